// SPDX-License-Identifier: Apache-2.0
#include "tests/common/gp_test.h"

#include <sys/wait.h>

#include "tests/nvidia/fake_rm.h"

static void test_request_numbers(void **state)
{
	/* The real ioctl numbers (nv_escape.h with the sizes of nvos.h). */
	assert_int_equal(GP_RM_REQUEST(GP_RM_ESC_CONTROL, gp_rm_control), 0xc020462aul);
	assert_int_equal(GP_RM_REQUEST(GP_RM_ESC_ALLOC, gp_rm_alloc21), 0xc020462bul);
	assert_int_equal(GP_RM_REQUEST(GP_RM_ESC_ALLOC, gp_rm_alloc64), 0xc030462bul);
	assert_int_equal(GP_RM_REQUEST(GP_RM_ESC_FREE, gp_rm_free), 0xc0104629ul);
	assert_int_equal(GP_RM_REQUEST(GP_RM_ESC_MAP_MEMORY, gp_rm_map_memory), 0xc038464eul);
}

static void test_status_becomes_errno(void **state)
{
	assert_int_equal(gp_nv_status_errno(GP_RM_OK), 0);
	assert_int_equal(gp_nv_status_errno(0x1b), -EPERM);
	assert_int_equal(gp_nv_status_errno(0x57), -ESRCH);
	assert_int_equal(gp_nv_status_errno(0x0f), -ENODEV);
	assert_int_equal(gp_nv_status_errno(0x56), -EOPNOTSUPP);
	assert_int_equal(gp_nv_status_errno(0x1f), -EINVAL);
	assert_int_equal(gp_nv_status_errno(0xffff), -EIO);
	assert_int_equal(gp_nv_status_errno(0x12345678), -EIO);
	assert_string_equal(gp_nv_status_name(0x1b), "insufficient permissions");
	assert_string_equal(gp_nv_status_name(0xabcd), "driver error");
}

static void test_refusal_keeps_its_status(void **state)
{
	struct gp_rm_tsg_timeslice slice;
	int fd;

	fake_reset();
	fd = fake_open_ctl();
	assert_int_equal(gp_nv_control(&fake_transport, fd, 1, 1, GP_RM_CTRL_TSG_GET_TIMESLICE,
				       &slice, sizeof(slice)),
			 -ESRCH);
	assert_int_equal(gp_nv_last_status(), GP_RM_ERR_INVALID_CLIENT);
	close(fd);
}

static void test_interrupted_call_is_repeated(void **state)
{
	struct gp_nv_client c;

	fake_reset();
	fake.interrupts = 3;
	assert_int_equal(gp_nv_client_open(&fake_transport, &c), 0);
	assert_int_equal(fake.calls, 4);
	assert_int_equal(c.handle, GP_RM_HABIT_CLIENT_BASE + 5);
	gp_nv_client_close(&c);
	assert_int_equal(c.fd, -1);
}

static void test_close_frees_the_client(void **state)
{
	struct gp_nv_client c;
	uint32_t device = 0;
	struct gp_rm_device_params dp = { 0 };
	int status;
	pid_t pid;

	fake_reset();
	assert_int_equal(gp_nv_client_open(&fake_transport, &c), 0);
	assert_true(gp_nv_fd_marked(c.fd));
	assert_int_equal(gp_nv_alloc(&c, c.handle, GP_RM_CLASS_DEVICE, &dp, &device), 0);
	assert_int_equal(fake.objects, 2);
	/* The child of a fork closes its copy and leaves ours alone. */
	pid = fork();
	if (!pid) {
		gp_nv_client_close(&c);
		_exit(fake.objects != 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	gp_nv_client_close(&c);
	assert_int_equal(fake.objects, 0);
}

static int version(const char *text)
{
	char buf[64];

	fake_reset();
	strcpy(fake.version, text);
	return gp_nv_driver_version(&fake_transport, buf, sizeof(buf));
}

static void test_driver_version(void **state)
{
	assert_int_equal(version("580.159.04"), 0);
	assert_int_equal(version("535.54.03"), 0);
	assert_int_equal(version("999.1"), 0);
	assert_int_equal(version("534.99"), -EOPNOTSUPP);
	assert_int_equal(version("470.256.02"), -EOPNOTSUPP);
	assert_int_equal(version("580"), -EPROTO);
	assert_int_equal(version("x.y"), -EPROTO);
	assert_int_equal(version(""), -ENODEV);
}

static void test_old_driver_opens_no_device(void **state)
{
	struct gp_device_id id = { 0 };
	struct gp_device *dev = NULL;

	fake_reset();
	strcpy(fake.version, "525.1.2");
	fake_uuid(0, id.uuid);
	assert_int_equal(gp_nv_device_open(&fake_transport, gp_nv_ops(&fake_transport), &id, &dev),
			 -EOPNOTSUPP);
	assert_null(dev);
}

static void test_probe_identifies(void **state)
{
	struct gp_device_list list;
	uint32_t gpu_id[GP_HAL_MAX_DEVICES];
	uint8_t uuid[16];

	fake_reset();
	assert_int_equal(gp_nv_probe(&fake_transport, &list, gpu_id), 0);
	assert_int_equal(list.count, FAKE_GPUS);
	fake_uuid(1, uuid);
	assert_memory_equal(list.dev[1].uuid, uuid, 16);
	assert_int_equal(list.dev[1].pci_bus, 0x3c);
	assert_int_equal(list.dev[1].minor, 1);
	assert_int_equal(gpu_id[1], 0x101);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_numbers),
		cmocka_unit_test(test_status_becomes_errno),
		cmocka_unit_test(test_refusal_keeps_its_status),
		cmocka_unit_test(test_interrupted_call_is_repeated),
		cmocka_unit_test(test_close_frees_the_client),
		cmocka_unit_test(test_driver_version),
		cmocka_unit_test(test_old_driver_opens_no_device),
		cmocka_unit_test(test_probe_identifies),
	};

	return gp_run_tests(tests);
}
