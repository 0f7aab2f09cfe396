// SPDX-License-Identifier: Apache-2.0
/*
 * A BE program over the fake KFD (hsaq_fake.c), with one queue. It sees its calls as the preload
 * would. usage: soak_app MS [CALL [END]]: run for MS; UPDATE_QUEUE number CALL fails; exit with END
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "client/engine.h"
#include "libhsaq/kfd_abi.h"
#include "libhsaq/track.h"
#include "tests/common/gp_test.h"
#include "tests/hsaq/fake_kfd.h"

#define CREATE _IOWR('K', HSAQ_KFD_NR_CREATE_QUEUE, struct hsaq_kfd_create)

static void group_ready(void *arg, struct gp_group *group)
{
	struct gp_client_device *dev;

	assert_int_equal(gp_engine_device(group->dev->ops, &group->dev->id, &dev), 0);
	assert_int_equal(gp_client_device_group_add(dev, group), 0);
	gp_thread_start(true);
}

int main(int argc, char **argv)
{
	static const struct gp_track_ops ops = { .group_ready = group_ready };
	static const struct gp_engine_hooks hooks = {
		.request.cls = { GP_CLASS_BE, 100 },
		.tracks = true,
	};
	struct hsaq_kfd_create args = {
		.ring_base = 0x10000,
		.ring_bytes = 4096,
		.gpu_id = FAKE_GPU,
		.type = HSAQ_KFD_QUEUE_COMPUTE_AQL,
		.percentage = 100,
		.priority = 7,
	};
	const long ms = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	const long call = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	if (call)
		fake_fail(HSAQ_KFD_NR_UPDATE_QUEUE, (unsigned int)call - 1, -ETIME);
	gp_engine_set_hooks(&hooks);
	assert_int_equal(gp_amd_track_start(&ops, NULL), 0);
	assert_int_equal(gp_amd_track_ioctl(fake_open_kfd(), CREATE, &args, fake_ioctl), 0);
	nanosleep(&ts, NULL);
	return argc > 3 ? atoi(argv[3]) : 0;
}
