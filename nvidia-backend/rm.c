// SPDX-License-Identifier: Apache-2.0
/*
 * rm.c - calls to the resource manager. The ioctl returns 0 even if RM refuses: the result is
 * in the structure's status.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvidia-backend/nv_internal.h"

static __thread uint32_t last_status;

uint32_t gp_nv_last_status(void)
{
	return last_status;
}

static const struct {
	uint32_t status;
	int error;
	const char *name;
} verdicts[] = {
	{ GP_RM_OK, 0, "ok" },
	{ GP_RM_ERR_BUSY_RETRY, -EBUSY, "busy" },
	{ GP_RM_ERR_CARD_NOT_PRESENT, -ENODEV, "card not present" },
	{ GP_RM_ERR_GPU_IS_LOST, -ENODEV, "GPU is lost" },
	{ GP_RM_ERR_GPU_IN_FULLCHIP_RESET, -ENODEV, "GPU in reset" },
	{ GP_RM_ERR_GPU_UUID_NOT_FOUND, -ENODEV, "no such GPU" },
	{ GP_RM_ERR_RESET_REQUIRED, -ENODEV, "GPU needs a reset" },
	{ GP_RM_ERR_IN_USE, -EBUSY, "in use" },
	{ GP_RM_ERR_STATE_IN_USE, -EBUSY, "state in use" },
	{ GP_RM_ERR_NOT_READY, -EBUSY, "not ready" },
	{ GP_RM_ERR_TIMEOUT, -ETIMEDOUT, "timeout" },
	{ GP_RM_ERR_TIMEOUT_RETRY, -ETIMEDOUT, "timeout, retry" },
	{ GP_RM_ERR_INSERT_DUPLICATE_NAME, -EEXIST, "duplicate handle" },
	{ GP_RM_ERR_INSUFFICIENT_RESOURCES, -ENOMEM, "insufficient resources" },
	{ GP_RM_ERR_NO_MEMORY, -ENOMEM, "no memory" },
	{ GP_RM_ERR_INSUFFICIENT_PERMISSIONS, -EPERM, "insufficient permissions" },
	{ GP_RM_ERR_INVALID_ACCESS_TYPE, -EPERM, "access type not allowed" },
	{ GP_RM_ERR_INVALID_CLIENT, -ESRCH, "no such client" },
	{ GP_RM_ERR_INVALID_CHANNEL, -ESRCH, "no such channel" },
	{ GP_RM_ERR_INVALID_OBJECT, -ESRCH, "no such object" },
	{ GP_RM_ERR_INVALID_OBJECT_HANDLE, -ESRCH, "no such handle" },
	{ GP_RM_ERR_INVALID_OBJECT_PARENT, -ESRCH, "no such parent" },
	{ GP_RM_ERR_OBJECT_NOT_FOUND, -ESRCH, "object not found" },
	{ GP_RM_ERR_INVALID_DEVICE, -ENODEV, "no such device" },
	{ GP_RM_ERR_INVALID_ARGUMENT, -EINVAL, "invalid argument" },
	{ GP_RM_ERR_INVALID_PARAM_STRUCT, -EINVAL, "invalid structure" },
	{ GP_RM_ERR_INVALID_PARAMETER, -EINVAL, "invalid parameter" },
	{ GP_RM_ERR_OUT_OF_RANGE, -ERANGE, "out of range" },
	{ GP_RM_ERR_INVALID_CLASS, -EOPNOTSUPP, "no such class" },
	{ GP_RM_ERR_INVALID_COMMAND, -EOPNOTSUPP, "no such command" },
	{ GP_RM_ERR_NOT_SUPPORTED, -EOPNOTSUPP, "not supported" },
};

int gp_nv_status_errno(uint32_t status)
{
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
		if (verdicts[i].status == status)
			return verdicts[i].error;
	return -EIO;
}

const char *gp_nv_status_name(uint32_t status)
{
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
		if (verdicts[i].status == status)
			return verdicts[i].name;
	return "driver error";
}

static int call(const struct gp_nv_transport *t, int fd, unsigned long request, void *arg,
		const uint32_t *status)
{
	int r;

	do {
		r = t->ioctl(fd, request, arg);
	} while (r < 0 && (errno == EINTR || errno == EAGAIN));
	if (r < 0) {
		last_status = GP_RM_ERR_OPERATING_SYSTEM;
		return -errno;
	}
	last_status = *status;
	return gp_nv_status_errno(*status);
}

int gp_nv_control(const struct gp_nv_transport *t, int fd, uint32_t client, uint32_t object,
		  uint32_t cmd, void *params, uint32_t bytes)
{
	struct gp_rm_control c = {
		.client = client,
		.object = object,
		.cmd = cmd,
		.params = (uintptr_t)params,
		.params_size = bytes,
	};

	return call(t, fd, GP_RM_REQUEST(GP_RM_ESC_CONTROL, gp_rm_control), &c, &c.status);
}

/*
 * The short form: every release accepts it, and it requests no rights. With params_size 0 RM
 * reads the size of its own release's structure.
 */
int gp_nv_alloc(const struct gp_nv_client *c, uint32_t parent, uint32_t cls, void *params,
		uint32_t *object)
{
	struct gp_rm_alloc21 a = {
		.client = c->handle,
		.parent = parent,
		.object = *object,
		.cls = cls,
		.params = (uintptr_t)params,
	};
	int r = call(c->t, c->fd, GP_RM_REQUEST(GP_RM_ESC_ALLOC, gp_rm_alloc21), &a, &a.status);

	if (!r)
		*object = a.object;
	return r;
}

int gp_nv_free(const struct gp_nv_client *c, uint32_t parent, uint32_t object)
{
	struct gp_rm_free f = {
		.client = c->handle,
		.parent = parent,
		.object = object,
	};

	return call(c->t, c->fd, GP_RM_REQUEST(GP_RM_ESC_FREE, gp_rm_free), &f, &f.status);
}

int gp_nv_client_open(const struct gp_nv_transport *t, struct gp_nv_client *c)
{
	struct gp_nv_client made = { .t = t, .pid = getpid() };
	uint32_t handle = 0;
	int r;

	made.fd = t->open_ctl();
	if (made.fd < 0)
		return made.fd;
	gp_nv_fd_mark(made.fd);
	r = gp_nv_alloc(&made, 0, GP_RM_CLASS_ROOT_CLIENT, NULL, &handle);
	if (r) {
		gp_nv_fd_close(made.fd);
		return r;
	}
	made.handle = handle;
	*c = made;
	return 0;
}

void gp_nv_client_close(struct gp_nv_client *c)
{
	/*
	 * The file's last close would free the client and all below it. But a child forked
	 * meanwhile may have the file too, and the software GPU does not see closes.
	 */
	if (c->fd >= 0 && c->pid == getpid())
		gp_nv_free(c, 0, c->handle);
	gp_nv_fd_close(c->fd);
	c->fd = -1;
}

static int handle_info(const struct gp_nv_transport *t, int fd, uint32_t client, uint32_t object,
		       uint32_t index, uint32_t *result)
{
	struct gp_rm_handle_info info = { .object = object, .index = index };
	int r = gp_nv_control(t, fd, client, client, GP_RM_CTRL_GET_HANDLE_INFO, &info,
			      sizeof(info));

	if (!r)
		*result = (uint32_t)info.result;
	return r;
}

int gp_nv_handle_class(const struct gp_nv_transport *t, int fd, uint32_t client, uint32_t object,
		       uint32_t *cls)
{
	return handle_info(t, fd, client, object, GP_RM_HANDLE_CLASS, cls);
}

int gp_nv_handle_parent(const struct gp_nv_transport *t, int fd, uint32_t client, uint32_t object,
			uint32_t *parent)
{
	return handle_info(t, fd, client, object, GP_RM_HANDLE_PARENT, parent);
}

int gp_nv_driver_version(const struct gp_nv_transport *t, char *buf, size_t len)
{
	char text[64];
	char *end;
	unsigned long major;
	int r = t->driver_version(text, sizeof(text));

	if (r)
		return r;
	if (len) {
		strncpy(buf, text, len - 1);
		buf[len - 1] = '\0';
	}
	major = strtoul(text, &end, 10);
	if (end == text || *end != '.')
		return -EPROTO;
	return major < GP_NV_OLDEST_DRIVER ? -EOPNOTSUPP : 0;
}

int gp_nv_map(const struct gp_nv_client *c, struct gp_rm_map_memory *map)
{
	return call(c->t, c->fd, GP_RM_REQUEST(GP_RM_ESC_MAP_MEMORY, gp_rm_map_memory), map,
		    &map->status);
}
