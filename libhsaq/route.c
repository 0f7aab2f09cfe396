// SPDX-License-Identifier: Apache-2.0
/*
 * route.c - can a queue be unloaded in mid-wave by its owner? Every KFD accepts the call. Without
 * CWSR it waits until the waves end, and resets the device if they take 9 s.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libhsaq/hsaq_internal.h"

#define GFX(major, minor, step) ((major)*10000u + (minor)*100u + (step))

/* Cards that kfd_device.c of Linux 6.12 gives no trap handler: gfx7, and Tonga of gfx8. */
static bool has_no_cwsr(uint32_t gfx)
{
	return gfx < GFX(8, 0, 0) || gfx == GFX(8, 0, 2);
}

/* gfx11 and later always have the MES firmware; gfx10 does by an option. */
static bool has_mes(const struct hsaq_io *io, uint32_t gfx)
{
	uint64_t on;

	return gfx >= GFX(11, 0, 0) ||
	       (gfx >= GFX(10, 1, 0) && !hsaq_sysfs_u64(io, HSAQ_SYSFS_PARAM "mes", &on) && on);
}

static bool has_no_firmware_scheduler(const struct hsaq_io *io, uint32_t gfx)
{
	uint64_t policy;

	/* Hawaii and Tonga, whatever the option says. */
	if (gfx == GFX(7, 0, 1) || gfx == GFX(8, 0, 2))
		return true;
	return !hsaq_sysfs_u64(io, HSAQ_SYSFS_POLICY, &policy) && policy == HSAQ_POLICY_NO_HWS;
}

void hsaq_route_read(const struct hsaq_io *io, struct hsaq_device_info *info)
{
	uint64_t on;

	info->scheduler = has_no_firmware_scheduler(io, info->gfx_version) ? HSAQ_SCHEDULER_NO_HWS :
			  has_mes(io, info->gfx_version)		   ? HSAQ_SCHEDULER_MES :
									     HSAQ_SCHEDULER_HWS;
	if (has_no_cwsr(info->gfx_version))
		info->cwsr = 0;
	else if (hsaq_sysfs_u64(io, HSAQ_SYSFS_PARAM "cwsr_enable", &on))
		info->cwsr = -1;
	else
		info->cwsr = on != 0;
}

static bool soaked(const struct hsaq_device_info *info)
{
	const char *now = secure_getenv("GPREEMPT_SOAK");

	return (now && !strcmp(now, "1")) || !hsaq_soak_read(info, NULL, 0);
}

static const char *obstacle(const struct hsaq_device_info *info)
{
	if (has_no_cwsr(info->gfx_version))
		return "this card cannot save running waves; use one of gfx9 or gfx10";
	if (!info->cwsr)
		return "amdgpu.cwsr_enable=0: running waves cannot be saved, and waiting for their "
		       "end may reset the GPU; boot without this option";
	if ((info->scheduler == HSAQ_SCHEDULER_MES || info->gfx_version >= GFX(11, 0, 0)) &&
	    !soaked(info))
		return "the MES firmware may reset the GPU when a running queue is removed; run "
		       "gpreempt doctor --soak -- PROGRAM first, or use HSA_CU_MASK, which shares "
		       "the compute units without preemption";
	return NULL;
}

int hsaq_can_unload_own(const struct hsaq_device_info *info, char *why, size_t len)
{
	const char *text = obstacle(info);

	if (text && why && len)
		snprintf(why, len, "%s", text);
	return !text;
}
