// SPDX-License-Identifier: Apache-2.0
#include "client/hip.h"

#include <dlfcn.h>
#include <errno.h>

/* Only a loaded library: a program without HIP gets none. */
static void *find_runtime(void)
{
	static const char *const name[] = {
		"libamdhip64.so.7",
		"libamdhip64.so.6",
		"libamdhip64.so.5",
		"libamdhip64.so",
	};
	void *lib = NULL;

	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]) && !lib; i++)
		lib = dlopen(name[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	return lib;
}

int gp_hip_current(char *address, size_t len)
{
	int (*get_device)(int *device);
	int (*get_pci)(char *address, int len, int device);
	void *lib = find_runtime();
	int device, err = -ENOSYS;

	if (!lib)
		return -ENOSYS;
	*(void **)&get_device = dlsym(lib, "hipGetDevice");
	*(void **)&get_pci = dlsym(lib, "hipDeviceGetPCIBusId");
	if (get_device && get_pci)
		err = get_device(&device) || get_pci(address, (int)len, device) ? -ENXIO : 0;
	/* The program's own reference keeps it. */
	dlclose(lib);
	return err;
}
