// SPDX-License-Identifier: Apache-2.0
/*
 * drm.c - names of cards by their PCI ids, from libdrm_amdgpu if it is installed. The KFD only
 * knows the chip.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "libhsaq/cmd/cmd.h"

/* amdgpu.h of libdrm. */
struct drm {
	int (*initialize)(int fd, uint32_t *major, uint32_t *minor, void **dev);
	int (*deinitialize)(void *dev);
	const char *(*name)(void *dev);
};

static bool load(struct drm *drm)
{
	static void *lib;

	if (!lib)
		lib = dlopen("libdrm_amdgpu.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return false;
	*(void **)&drm->initialize = dlsym(lib, "amdgpu_device_initialize");
	*(void **)&drm->deinitialize = dlsym(lib, "amdgpu_device_deinitialize");
	*(void **)&drm->name = dlsym(lib, "amdgpu_get_marketing_name");
	return drm->initialize && drm->deinitialize && drm->name;
}

bool hsaq_drm_name(uint32_t minor, char *name, size_t len)
{
	uint32_t v_major, v_minor;
	char path[64];
	const char *text = NULL;
	struct drm drm = { 0 };
	void *dev;
	int fd;

	snprintf(path, sizeof(path), "/dev/dri/renderD%u", minor);
	fd = load(&drm) ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	if (!drm.initialize(fd, &v_major, &v_minor, &dev)) {
		text = drm.name(dev);
		if (text)
			snprintf(name, len, "%s", text);
		drm.deinitialize(dev);
	}
	close(fd);
	return text != NULL;
}
