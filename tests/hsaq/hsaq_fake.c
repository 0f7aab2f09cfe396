// SPDX-License-Identifier: Apache-2.0
/*
 * hsaq(1) and gpreempt(1) over the fake KFD, for end-to-end tests. FAKE_HSAQ selects the
 * kernel and the user, FAKE_PID a process with two queues on its first device.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/hsaq/fake_kfd.h"

static const struct place {
	const char *name;
	struct fake_config config;
} places[] = {
	{ "patched", { .kernel = FAKE_PATCHED } },
	{ "patched-hws", { .kernel = FAKE_PATCHED_HWS } },
	{ "stock", { .kernel = FAKE_STOCK } },
	{ "stock-hws", { .kernel = FAKE_STOCK_HWS } },
	{ "no-cwsr", { .kernel = FAKE_STOCK_HWS, .cwsr_off = true } },
	{ "gfx7", { .kernel = FAKE_STOCK, .gfx = 70001 } },
	{ "gfx10", { .kernel = FAKE_STOCK_HWS, .gfx = 100300 } },
	{ "gfx10-mes", { .kernel = FAKE_STOCK_HWS, .gfx = 100300, .mes = true } },
	{ "gfx11", { .kernel = FAKE_STOCK_HWS, .gfx = 110000 } },
	{ "gfx11-no-hws", { .kernel = FAKE_STOCK, .gfx = 110000 } },
	{ "no-kfd", { .no_kfd = -ENOENT } },
	{ "closed", { .no_kfd = -EACCES } },
	{ "old-abi", { .kernel = FAKE_STOCK, .minor = 9 } },
	{ "new-abi", { .kernel = FAKE_STOCK, .major = 2 } },
	{ "one-hws", { .kernel = FAKE_PATCHED, .gpu2_hws = true } },
	{ "user", { .unprivileged = true, .sched_node = -EACCES } },
	{ "user-in-container",
	  { .unprivileged = true, .sched_node = -EACCES, .pid_namespace = true } },
};

static __attribute__((constructor)) void start(void)
{
	const char *place = getenv("FAKE_HSAQ"), *pid = getenv("FAKE_PID");

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!place || strcmp(place, places[i].name))
			continue;
		fake_kfd_start(&places[i].config);
		if (pid) {
			fake_process_add(atoi(pid));
			fake_queue_create(atoi(pid), FAKE_GPU, 0);
			fake_queue_create(atoi(pid), FAKE_GPU, 0);
		}
		return;
	}
	fprintf(stderr, "FAKE_HSAQ=%s: no such place\n", place ? place : "");
	exit(99);
}
