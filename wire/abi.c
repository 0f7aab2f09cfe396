// SPDX-License-Identifier: Apache-2.0
/*
 * abi.c - version 1 of the protocol, as every compiler must lay it out. There is no unnamed
 * padding, so no message leaks the sender's memory. tests/wire/golden/ has the bytes. Any
 * change here needs a new version.
 */
#include "wire/wire.h"

#define BYTES(name, bytes) \
	_Static_assert(sizeof(struct gp_wire_##name) == (bytes), "ABI: size of " #name)
#define AT(name, field, offset) \
	_Static_assert(offsetof(struct gp_wire_##name, field) == (offset), "ABI: " #name "." #field)

_Static_assert(GP_WIRE_VERSION == 1, "ABI");

BYTES(head, 16);
AT(head, magic, 0);
AT(head, version, 4);
AT(head, type, 6);
AT(head, size, 8);
AT(head, result, 12);

BYTES(set_class, 24);
BYTES(hint, 24);
BYTES(yield, 48);
AT(yield, limit_ns, 24);
AT(yield, uuid, 32);
BYTES(memory, 120);
AT(memory, figures, 24);
AT(memory, figures.fixed, 32);
AT(memory, figures.out, 40);
AT(memory, figures.moves, 48);
AT(memory, figures.move_ns, 64);
AT(memory, figures.host_max, 88);
AT(memory, uuid, 96);
AT(memory, need, 112);

BYTES(status, 304);
AT(status, slice_us, 48);
AT(status, learns, 144);
AT(status, guesses, 152);
AT(status, comm, 176);
AT(status, device, 192);
AT(status, uuid, 256);

BYTES(request, 40);
AT(request, cap_pct, 8);
AT(request, pad, 12);
AT(request, period_ns, 16);
AT(request, deadline_ns, 24);
AT(request, runtime_ns, 32);

BYTES(hello, 144);
AT(hello, uuid, 16);
AT(hello, flags, 32);
AT(hello, request, 40);
AT(hello, key, 80);

BYTES(files, 80);
AT(files, key, 16);

BYTES(welcome, 576);
AT(welcome, daemon_pid, 16);
AT(welcome, request, 24);
AT(welcome, why, 64);

BYTES(ask_class, 56);
AT(ask_class, request, 16);

BYTES(take, 80);
AT(take, pid, 16);
AT(take, kind, 20);
AT(take, uuid, 24);
AT(take, request, 40);

BYTES(away, 88);
AT(away, away, 16);
AT(away, keep, 24);

BYTES(room, 48);
AT(room, uuid, 16);
AT(room, may_come, 32);
AT(room, moving, 36);
AT(room, need, 40);

BYTES(pool, 280);
AT(pool, pid, 16);
AT(pool, count, 20);
AT(pool, client, 24);

BYTES(quota, 24);
AT(quota, place, 16);

BYTES(ruled, 1080);
AT(ruled, pool, 16);
AT(ruled, percent, 20);
AT(ruled, one, 24);
AT(ruled, turns, 28);
AT(ruled, memory_min, 32);
AT(ruled, host_memory, 48);
AT(ruled, rule, 56);
AT(ruled, hook, 568);

BYTES(said, 528);
AT(said, text, 16);

BYTES(tenant, 1168);
AT(tenant, uuid, 24);
AT(tenant, flags, 44);
AT(tenant, request, 56);
AT(tenant, age_ns, 96);
AT(tenant, used_ns, 112);
AT(tenant, wait_p50_ns, 144);
AT(tenant, hints, 176);
AT(tenant, corrected, 224);
AT(tenant, memory, 232);
AT(tenant, quota_used, 304);
AT(tenant, quota_max, 312);
AT(tenant, comm, 320);
AT(tenant, device, 336);
AT(tenant, cgroup, 400);
AT(tenant, why, 656);

BYTES(device, 232);
AT(device, name, 32);
AT(device, be_policy, 96);
AT(device, lc_policy, 112);
AT(device, be_min_pct, 128);
AT(device, quantum_ns, 152);
AT(device, log_lost, 224);

BYTES(reason, 720);
AT(reason, uuid, 40);
AT(reason, for_ns, 56);
AT(reason, request, 72);
AT(reason, comm, 112);
AT(reason, device, 144);
AT(reason, why, 208);

BYTES(buckets, 3608);
AT(buckets, count, 24);

BYTES(trace_record, 32);
AT(trace_record, pid, 16);
AT(trace_record, kind, 24);
AT(trace_record, device, 26);

BYTES(traced, 1048);
AT(traced, count, 16);
AT(traced, record, 24);
