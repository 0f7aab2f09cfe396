// SPDX-License-Identifier: Apache-2.0
/*
 * kfd_abi.h against the installed kernel's own header. Each structure that libhsaq
 * defines itself equals the start of the driver's.
 */
#ifdef KFD_IOCTL_H
#include KFD_IOCTL_H
#else
#include <linux/kfd_ioctl.h>
#endif

#include "kfd-patch/uapi/linux/kfd_sched.h"
#include "libhsaq/kfd_abi.h"
#include "tests/common/gp_test.h"

#define SAME(ours, our_field, theirs, their_field)                           \
	do {                                                                 \
		assert_int_equal(offsetof(struct ours, our_field),           \
				 offsetof(struct theirs, their_field));      \
		assert_int_equal(sizeof(((struct ours *)0)->our_field),      \
				 sizeof(((struct theirs *)0)->their_field)); \
	} while (0)

static void create_begins_as_the_driver_has_it(void **state)
{
	SAME(hsaq_kfd_create, ring_base, kfd_ioctl_create_queue_args, ring_base_address);
	SAME(hsaq_kfd_create, write_pointer, kfd_ioctl_create_queue_args, write_pointer_address);
	SAME(hsaq_kfd_create, read_pointer, kfd_ioctl_create_queue_args, read_pointer_address);
	SAME(hsaq_kfd_create, doorbell_offset, kfd_ioctl_create_queue_args, doorbell_offset);
	SAME(hsaq_kfd_create, ring_bytes, kfd_ioctl_create_queue_args, ring_size);
	SAME(hsaq_kfd_create, gpu_id, kfd_ioctl_create_queue_args, gpu_id);
	SAME(hsaq_kfd_create, type, kfd_ioctl_create_queue_args, queue_type);
	SAME(hsaq_kfd_create, percentage, kfd_ioctl_create_queue_args, queue_percentage);
	SAME(hsaq_kfd_create, priority, kfd_ioctl_create_queue_args, queue_priority);
	SAME(hsaq_kfd_create, queue_id, kfd_ioctl_create_queue_args, queue_id);
	assert_true(sizeof(struct hsaq_kfd_create) <= sizeof(struct kfd_ioctl_create_queue_args));
	assert_int_equal(HSAQ_KFD_QUEUE_COMPUTE, KFD_IOC_QUEUE_TYPE_COMPUTE);
	assert_int_equal(HSAQ_KFD_QUEUE_SDMA, KFD_IOC_QUEUE_TYPE_SDMA);
	assert_int_equal(HSAQ_KFD_QUEUE_COMPUTE_AQL, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
}

static void the_others_are_the_same(void **state)
{
	SAME(hsaq_kfd_update, ring_base, kfd_ioctl_update_queue_args, ring_base_address);
	SAME(hsaq_kfd_update, queue_id, kfd_ioctl_update_queue_args, queue_id);
	SAME(hsaq_kfd_update, ring_bytes, kfd_ioctl_update_queue_args, ring_size);
	SAME(hsaq_kfd_update, percentage, kfd_ioctl_update_queue_args, queue_percentage);
	SAME(hsaq_kfd_update, priority, kfd_ioctl_update_queue_args, queue_priority);
	SAME(hsaq_kfd_destroy, queue_id, kfd_ioctl_destroy_queue_args, queue_id);
	SAME(hsaq_kfd_version, major, kfd_ioctl_get_version_args, major_version);
	SAME(hsaq_kfd_version, minor, kfd_ioctl_get_version_args, minor_version);
	assert_int_equal(sizeof(struct hsaq_kfd_update),
			 sizeof(struct kfd_ioctl_update_queue_args));
	assert_int_equal(HSAQ_KFD_PRIORITY_MAX, KFD_MAX_QUEUE_PRIORITY);
	SAME(hsaq_kfd_criu, pid, kfd_ioctl_criu_args, pid);
	SAME(hsaq_kfd_criu, op, kfd_ioctl_criu_args, op);
}

static void the_numbers_are_the_same(void **state)
{
	assert_int_equal(HSAQ_KFD_GET_VERSION, AMDKFD_IOC_GET_VERSION);
	assert_int_equal(HSAQ_KFD_UPDATE_QUEUE, AMDKFD_IOC_UPDATE_QUEUE);
	assert_int_equal(HSAQ_KFD_NR_CREATE_QUEUE, _IOC_NR(AMDKFD_IOC_CREATE_QUEUE));
	assert_int_equal(HSAQ_KFD_NR_DESTROY_QUEUE, _IOC_NR(AMDKFD_IOC_DESTROY_QUEUE));
	assert_int_equal(HSAQ_KFD_CRIU_OP, AMDKFD_IOC_CRIU_OP);
	assert_int_equal(HSAQ_KFD_CRIU_PROCESS_INFO, KFD_CRIU_OP_PROCESS_INFO);
	assert_int_equal(HSAQ_KFD_CRIU_UNPAUSE, KFD_CRIU_OP_UNPAUSE);
	assert_int_equal(HSAQ_KFD_MAJOR, KFD_IOCTL_MAJOR_VERSION);
}

/* The series' structures have no holes, and the same layout for 32 bits. */
static void the_series_has_no_holes(void **state)
{
	assert_int_equal(sizeof(struct kfd_ioctl_sched_set_class_args), 40);
	assert_int_equal(sizeof(struct kfd_ioctl_sched_hold_args), 64);
	assert_int_equal(sizeof(struct kfd_ioctl_sched_release_args), 40);
	assert_int_equal(sizeof(struct kfd_sched_queue_state), 96);
	assert_int_equal(sizeof(struct kfd_sched_device_state), 120);
	assert_int_equal(sizeof(struct kfd_ioctl_sched_state_args), 48);
	assert_int_equal(sizeof(struct kfd_ioctl_sched_wait_args), 72);
	assert_int_equal(sizeof(struct kfd_sched_grant_args), 16);
}

int main(void)
{
	const struct CMUnitTest abi[] = {
		cmocka_unit_test(create_begins_as_the_driver_has_it),
		cmocka_unit_test(the_others_are_the_same),
		cmocka_unit_test(the_numbers_are_the_same),
		cmocka_unit_test(the_series_has_no_holes),
	};

	return gp_run_tests(abi);
}
