// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/roundtrip.h"

#include <string.h>

#define WORD sizeof(uint64_t)

void gp_roundtrip_open(struct gp_roundtrip *trip, size_t bytes, void *stream)
{
	*trip = (struct gp_roundtrip){ .bytes = bytes, .stream = stream };
	if (!bytes)
		return;
	GP_CU(cuMemAlloc_v2(&trip->device, bytes));
	GP_CU(cuMemHostAlloc((void **)&trip->in, bytes, 0));
	GP_CU(cuMemHostAlloc((void **)&trip->out, bytes, 0));
	for (size_t i = 0; i < bytes / WORD; i++)
		trip->in[i] = i;
	memset(trip->out, 0, bytes);
}

void gp_roundtrip_in(struct gp_roundtrip *trip)
{
	if (trip->bytes)
		GP_CU(cuMemcpyHtoDAsync_v2(trip->device, trip->in, trip->bytes, trip->stream));
}

void gp_roundtrip_out(struct gp_roundtrip *trip)
{
	if (!trip->bytes)
		return;
	GP_CU(cuMemcpyDtoHAsync_v2(trip->out, trip->device, trip->bytes, trip->stream));
	trip->trips++;
}

bool gp_roundtrip_check(struct gp_roundtrip *trip)
{
	if (!trip->trips)
		return true;
	GP_CU(cuStreamSynchronize(trip->stream));
	return !memcmp(trip->in, trip->out, trip->bytes);
}
