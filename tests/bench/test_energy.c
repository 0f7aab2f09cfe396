// SPDX-License-Identifier: Apache-2.0
/* A device's energy. This program itself stands for the library. */
#include <string.h>

#include "bench/run/energy.h"
#include "tests/common/gp_test.h"

#define NVML __attribute__((visibility("default")))

static int users;
static unsigned long long used_mj;
static const char *found_by;

NVML int nvmlInit_v2(void);
NVML int nvmlShutdown(void);
NVML int nvmlDeviceGetHandleByUUID(const char *name, void **device);
NVML int nvmlDeviceGetHandleByPciBusId_v2(const char *name, void **device);
NVML int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);

int nvmlInit_v2(void)
{
	users++;
	return 0;
}

int nvmlShutdown(void)
{
	users--;
	return 0;
}

int nvmlDeviceGetHandleByUUID(const char *name, void **device)
{
	found_by = "uuid";
	*device = &used_mj;
	return strcmp(name, "GPU-1");
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *name, void **device)
{
	found_by = "address";
	*device = &used_mj;
	return strcmp(name, "0000:01:00.0");
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
	*mj = used_mj;
	return device != &used_mj || !used_mj;
}

static void tells(void **state)
{
	static const char *const devices[][2] = { { "GPU-1", "uuid" },
						  { "0000:01:00.0", "address" } };

	for (size_t i = 0; i < 2; i++) {
		struct gp_energy *e = gp_energy_open(devices[i][0], NULL);

		assert_non_null(e);
		assert_string_equal(found_by, devices[i][1]);
		assert_int_equal(users, 1);
		used_mj = 0;
		assert_true(gp_energy_joules(e) < 0);
		used_mj = 1234500;
		assert_true(gp_energy_joules(e) == 1234.5);
		gp_energy_close(e);
		assert_int_equal(users, 0);
	}
}

static void does_not_tell(void **state)
{
	assert_null(gp_energy_open("GPU-2", NULL));
	assert_int_equal(users, 0);
	assert_null(gp_energy_open("GPU-1", "/no/such/library.so"));
	assert_null(gp_energy_open("GPU-1", "libm.so.6"));
	assert_true(gp_energy_joules(NULL) < 0);
	gp_energy_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells),
		cmocka_unit_test(does_not_tell),
	};

	return gp_run_tests(tests);
}
