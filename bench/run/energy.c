// SPDX-License-Identifier: Apache-2.0
/*
 * energy.c - NVML by dlopen: its functions as the NVML API reference has them. Energy is in
 * mJ since the driver was loaded (nvmlDeviceGetTotalEnergyConsumption, Volta and later).
 */
#include "bench/run/energy.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct gp_energy {
	void *library, *device;
	int (*shutdown)(void);
	int (*total)(void *device, unsigned long long *mj);
};

static bool find_device(void *library, const char *name, void **device)
{
	const char *by = strncmp(name, "GPU-", 4) ? "nvmlDeviceGetHandleByPciBusId_v2" :
						    "nvmlDeviceGetHandleByUUID";
	int (*find)(const char *name, void **device);

	*(void **)&find = dlsym(library, by);
	return find && !find(name, device);
}

static bool begin(struct gp_energy *e)
{
	int (*init)(void);

	*(void **)&init = dlsym(e->library, "nvmlInit_v2");
	*(void **)&e->shutdown = dlsym(e->library, "nvmlShutdown");
	*(void **)&e->total = dlsym(e->library, "nvmlDeviceGetTotalEnergyConsumption");
	return init && e->shutdown && e->total && !init();
}

struct gp_energy *gp_energy_open(const char *device, const char *library)
{
	struct gp_energy *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!e->library || !begin(e))
		e->shutdown = NULL;
	else if (find_device(e->library, device, &e->device))
		return e;
	gp_energy_close(e);
	return NULL;
}

void gp_energy_close(struct gp_energy *e)
{
	if (!e)
		return;
	if (e->shutdown)
		e->shutdown();
	if (e->library)
		dlclose(e->library);
	free(e);
}

double gp_energy_joules(const struct gp_energy *e)
{
	unsigned long long mj;

	return e && !e->total(e->device, &mj) ? (double)mj / 1000 : -1;
}
