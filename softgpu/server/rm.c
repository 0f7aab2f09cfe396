// SPDX-License-Identifier: Apache-2.0
/*
 * rm.c - the resource manager's objects that clients use: clients on files, devices, channel
 * groups and channels, memory, event buffers. Statuses are the real one's.
 *
 * Device and inode identify a file, so any process with its descriptor may use it. RM refuses
 * another file, as the real one does.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softgpu/server/server.h"

/*
 * Costs of calls for their caller, measured on one H200 with driver 580.159.04, like the table
 * of docs/nvidia.md.
 */
#define QUERY_COST_NS 2000u
#define INTERLEAVE_COST_NS 155000u
#define MODE_COST_NS 500000u /* 480 to 650 us */
#define PREEMPT_COST_NS 260000u
#define PREEMPT_WAIT_COST_NS 470000u
#define SCHEDULE_COST_NS 214000u
#define ALLOC_COST_NS 20000u /* Assumption: not measured */
#define FIRST_SLICE_US 1024u /* a new group's, before libcuda sets its own */
#define CHOSEN_HANDLE_BASE 0xcaf00000u
#define MEMORY_MAX (64u << 20)
#define CTRL_SET_INTERLEAVE 0xa06c0107u

/*
 * One ioctl. The structure and the parameters are in the connection's message, and the answer
 * overwrites them.
 */
struct rm_call {
	struct soft_server *s;
	struct soft_conn *c;
	struct soft_file *file;
	unsigned int nr;
	void *arg;
	uint32_t arg_bytes;
	void *params;
	uint32_t params_bytes;
	bool again; /* its control is done: answer */
	bool waits;
};

static bool parse(struct soft_server *s, struct soft_conn *c, struct rm_call *call)
{
	struct gp_soft_req *req = (void *)c->msg;
	const uint32_t room = c->bytes - (uint32_t)sizeof(*req);
	const uint32_t arg_bytes = req->u.ioctl.struct_bytes;

	memset(call, 0, sizeof(*call));
	if (arg_bytes > room || arg_bytes % 8 > 4 || arg_bytes % 4 ||
	    req->u.ioctl.params_bytes != room - (arg_bytes + 7) / 8 * 8)
		return false;
	call->s = s;
	call->c = c;
	call->nr = _IOC_NR(req->u.ioctl.request);
	call->arg = req + 1;
	call->arg_bytes = arg_bytes;
	call->params = (unsigned char *)call->arg + (arg_bytes + 7) / 8 * 8;
	call->params_bytes = req->u.ioctl.params_bytes;
	return _IOC_TYPE(req->u.ioctl.request) == GP_RM_IOCTL_MAGIC &&
	       _IOC_SIZE(req->u.ioctl.request) == arg_bytes;
}

/* ---- files ------------------------------------------------------------------ */

static struct soft_file *file_find(struct soft_server *s, dev_t dev, ino_t ino)
{
	for (struct soft_file *f = s->files; f; f = f->next)
		if (f->dev == dev && f->ino == ino)
			return f;
	return NULL;
}

/* ---- objects ------------------------------------------------------------------ */

static struct soft_client *client_find(struct soft_server *s, uint32_t handle)
{
	for (struct soft_client *cl = s->clients; cl; cl = cl->next)
		if (cl->handle == handle)
			return cl;
	return NULL;
}

struct soft_object *soft_rm_object(struct soft_client *client, uint32_t handle)
{
	for (struct soft_object *o = client->objects; o; o = o->next)
		if (o->handle == handle)
			return o;
	return NULL;
}

struct soft_object *soft_rm_channel(struct soft_server *s, struct soft_proc *p, uint32_t client,
				    uint32_t handle)
{
	struct soft_client *cl = client_find(s, client);
	struct soft_object *o;

	if (!cl || cl->file->proc != p)
		return NULL;
	o = soft_rm_object(cl, handle);
	return o && gp_rm_class_is_channel(o->cls) ? o : NULL;
}

/* A group runs when it is scheduled and not all its channels are disabled. */
static bool group_may_run(const struct soft_object *g)
{
	bool any = false, on = false;

	for (const struct soft_object *o = g->client->objects; o; o = o->next) {
		if (o->parent != g->handle || !gp_rm_class_is_channel(o->cls))
			continue;
		any = true;
		on |= !o->disabled;
	}
	return g->scheduled && (on || !any);
}

static void object_free(struct soft_server *s, struct soft_object *o)
{
	if (o->cls == GP_RM_CLASS_CHANNEL_GROUP) {
		gp_model_group_del(o->gpu->model, o->model);
	} else if (gp_rm_class_is_channel(o->cls)) {
		gp_model_channel_del(o->gpu->model, o->model);
		soft_jobs_drop(s, o);
	} else if (o->cls == GP_RM_CLASS_EVENT_BUFFER) {
		soft_log_destroy(o);
	}
	if (o->map)
		munmap(o->map, o->map_bytes);
	if (o->map_file)
		o->map_file->mapped = false;
	o->client->object_count--;
	free(o);
}

static void object_delete(struct soft_server *s, struct soft_client *cl, uint32_t handle)
{
	struct soft_object **link = &cl->objects, *o;

	while (*link) {
		if ((*link)->parent != handle) {
			link = &(*link)->next;
			continue;
		}
		object_delete(s, cl, (*link)->handle);
		link = &cl->objects;
	}
	for (link = &cl->objects; (o = *link); link = &o->next) {
		if (o->handle != handle)
			continue;
		*link = o->next;
		object_free(s, o);
		return;
	}
}

static void client_delete(struct soft_server *s, struct soft_client *cl)
{
	struct soft_client **link = &s->clients;

	object_delete(s, cl, cl->handle);
	while (cl->objects)
		object_delete(s, cl, cl->objects->handle);
	while (*link != cl)
		link = &(*link)->next;
	*link = cl->next;
	cl->file->proc->client_count--;
	free(cl);
}

static void file_free(struct soft_server *s, struct soft_file *f)
{
	for (struct soft_client *cl = f->mapped ? s->clients : NULL; cl; cl = cl->next)
		for (struct soft_object *o = cl->objects; o; o = o->next)
			if (o->map_file == f)
				o->map_file = NULL;
	free(f);
}

void soft_rm_proc_end(struct soft_server *s, struct soft_proc *p)
{
	struct soft_file **link = &s->files;

	for (struct soft_client *cl = s->clients, *next; cl; cl = next) {
		next = cl->next;
		if (cl->file->proc == p)
			client_delete(s, cl);
	}
	while (*link) {
		struct soft_file *f = *link;

		if (f->proc != p) {
			link = &f->next;
			continue;
		}
		*link = f->next;
		file_free(s, f);
	}
}

/* ---- closed files ---------------------------------------------------------- */

/* Notes the files that @pid has. False: not readable. */
static bool files_seen(struct soft_server *s, pid_t pid)
{
	struct dirent *entry;
	struct soft_file *f;
	struct stat st;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT; /* the process is gone, and with it the files */
	while ((entry = readdir(dir))) {
		if (fstatat(dirfd(dir), entry->d_name, &st, 0))
			continue;
		f = file_find(s, st.st_dev, st.st_ino);
		if (f)
			f->seen = true;
	}
	closedir(dir);
	return true;
}

/*
 * A real close removes the file's clients, but the server gets no notice of it. So it checks
 * when @p is at a limit. A file that another process took remains, as do the one of the
 * present call (@keep) and mapped memory.
 */
static void files_collect(struct soft_server *s, struct soft_proc *p, const struct soft_file *keep)
{
	struct soft_file **link = &s->files;
	bool known = !s->fuzzing;

	for (struct soft_file *f = s->files; f; f = f->next)
		f->seen = f->proc != p || f == keep || f->mapped;
	for (struct soft_proc *q = s->procs; q && known; q = q->next)
		known = q->gone || files_seen(s, q->pid);
	if (!known)
		return;
	for (struct soft_client *cl = s->clients, *next; cl; cl = next) {
		next = cl->next;
		if (!cl->file->seen)
			client_delete(s, cl);
	}
	while (*link) {
		struct soft_file *f = *link;

		if (f->seen) {
			link = &f->next;
			continue;
		}
		*link = f->next;
		p->file_count--;
		file_free(s, f);
	}
}

/*
 * The server keeps none of them open: a search for processes that use the device would find
 * it. Inode numbers identify them. They do not repeat for 2^32 files (mm/shmem.c,
 * shmem_reserve_inode()).
 */
int soft_rm_open(struct soft_server *s, struct soft_proc *p, int *fd)
{
	struct soft_file *f;
	struct stat st;

	if (p->file_count == SOFT_FILES_MAX)
		files_collect(s, p, NULL);
	if (p->file_count == SOFT_FILES_MAX)
		return -EMFILE;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*fd = memfd_create("gpreempt-soft-rm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0 || fstat(*fd, &st)) {
		int err = -errno;

		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		free(f);
		return err;
	}
	f->proc = p;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->next = s->files;
	s->files = f;
	p->file_count++;
	return 0;
}

/* ---- allocation ---------------------------------------------------------------- */

static uint32_t alloc_client(struct rm_call *call, uint32_t *handle)
{
	struct soft_proc *p = call->file->proc;
	struct soft_client *cl;

	if (p->client_count == SOFT_CLIENTS_MAX)
		files_collect(call->s, p, call->file);
	if (p->client_count == SOFT_CLIENTS_MAX)
		return GP_RM_ERR_INSUFFICIENT_RESOURCES;
	if (*handle && client_find(call->s, *handle))
		return GP_RM_ERR_INSERT_DUPLICATE_NAME;
	cl = calloc(1, sizeof(*cl));
	if (!cl)
		return GP_RM_ERR_NO_MEMORY;
	while (!*handle) {
		uint32_t next = ++call->s->next_client;

		if (!client_find(call->s, next))
			*handle = next;
	}
	cl->file = call->file;
	cl->handle = *handle;
	cl->next = call->s->clients;
	call->s->clients = cl;
	p->client_count++;
	return GP_RM_OK;
}

/* It cannot run until it is scheduled, but cannot have work before either. */
static uint32_t make_group(struct rm_call *call, struct soft_object *o, uint32_t parent_cls)
{
	struct gp_rm_channel_group_params params;
	enum gp_group_kind kind;
	int id;

	if (parent_cls != GP_RM_CLASS_DEVICE)
		return GP_RM_ERR_INVALID_OBJECT_PARENT;
	if (call->params_bytes < sizeof(params))
		return GP_RM_ERR_INVALID_PARAM_STRUCT;
	memcpy(&params, call->params, sizeof(params));
	kind = params.engine >= GP_RM_ENGINE_COPY0 ? GP_GROUP_COPY : GP_GROUP_COMPUTE;
	id = gp_model_group_add(o->gpu->model, call->file->proc->pid, kind);
	if (id < 0)
		return GP_RM_ERR_INSUFFICIENT_RESOURCES;
	o->model = (uint32_t)id;
	o->engine = params.engine;
	gp_model_set_slice(o->gpu->model, o->model, FIRST_SLICE_US);
	return GP_RM_OK;
}

static uint32_t make_channel(struct rm_call *call, struct soft_object *o,
			     const struct soft_object *parent)
{
	int id;

	if (!parent || parent->cls != GP_RM_CLASS_CHANNEL_GROUP)
		return GP_RM_ERR_INVALID_OBJECT_PARENT;
	id = gp_model_channel_add(o->gpu->model, parent->model);
	if (id < 0)
		return GP_RM_ERR_INSUFFICIENT_RESOURCES;
	o->model = (uint32_t)id;
	return GP_RM_OK;
}

static uint32_t make_memory(struct rm_call *call, struct soft_object *o)
{
	struct gp_rm_memory_params params = { 0 };

	memcpy(&params, call->params,
	       call->params_bytes < sizeof(params) ? call->params_bytes : sizeof(params));
	if (!params.size || params.size > MEMORY_MAX)
		return GP_RM_ERR_INVALID_ARGUMENT;
	o->map_bytes = (params.size + 4095) / 4096 * 4096;
	o->map = mmap(NULL, o->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (o->map != MAP_FAILED)
		return GP_RM_OK;
	o->map = NULL;
	return GP_RM_ERR_NO_MEMORY;
}

static uint32_t make_device(struct rm_call *call, struct soft_object *o)
{
	struct gp_rm_device_params params = { 0 };

	memcpy(&params, call->params,
	       call->params_bytes < sizeof(params) ? call->params_bytes : sizeof(params));
	if (params.device_id >= call->s->gpus)
		return GP_RM_ERR_INVALID_ARGUMENT;
	o->gpu = &call->s->gpu[params.device_id];
	return GP_RM_OK;
}

static uint32_t make_object(struct rm_call *call, struct soft_object *o,
			    const struct soft_object *parent)
{
	const uint32_t parent_cls = parent ? parent->cls : GP_RM_CLASS_ROOT_CLIENT;
	struct gp_rm_event_buffer_params buffer;

	o->gpu = parent ? parent->gpu : NULL;
	if (gp_rm_class_is_channel(o->cls))
		return make_channel(call, o, parent);
	if (gp_rm_class_is_compute(o->cls) || gp_rm_class_is_copy(o->cls))
		return gp_rm_class_is_channel(parent_cls) ? GP_RM_OK :
							    GP_RM_ERR_INVALID_OBJECT_PARENT;
	switch (o->cls) {
	case GP_RM_CLASS_DEVICE:
		return parent ? GP_RM_ERR_INVALID_OBJECT_PARENT : make_device(call, o);
	case GP_RM_CLASS_SUBDEVICE:
		return parent_cls == GP_RM_CLASS_DEVICE ? GP_RM_OK :
							  GP_RM_ERR_INVALID_OBJECT_PARENT;
	case GP_RM_CLASS_CHANNEL_GROUP:
		return make_group(call, o, parent_cls);
	case GP_RM_CLASS_MEMORY_SYSTEM:
		return parent_cls == GP_RM_CLASS_DEVICE ? make_memory(call, o) :
							  GP_RM_ERR_INVALID_OBJECT_PARENT;
	case GP_RM_CLASS_EVENT_BUFFER:
		if (call->params_bytes < sizeof(buffer))
			return GP_RM_ERR_INVALID_PARAM_STRUCT;
		memcpy(&buffer, call->params, sizeof(buffer));
		return soft_log_create(o, &buffer);
	default:
		return GP_RM_ERR_INVALID_CLASS;
	}
}

static struct soft_client *client_of_call(struct rm_call *call, uint32_t handle, uint32_t *status)
{
	struct soft_client *cl = client_find(call->s, handle);

	if (cl && cl->file == call->file)
		return cl;
	*status = GP_RM_ERR_INVALID_CLIENT;
	return NULL;
}

static uint32_t alloc_object(struct rm_call *call, uint32_t client, uint32_t parent_handle,
			     uint32_t *handle, uint32_t cls)
{
	struct soft_object *parent = NULL, *o;
	uint32_t status = GP_RM_OK;
	struct soft_client *cl;

	if (cls == GP_RM_CLASS_ROOT || cls == GP_RM_CLASS_ROOT_CLIENT)
		return alloc_client(call, handle);
	cl = client_of_call(call, client, &status);
	if (!cl)
		return status;
	if (parent_handle != client) {
		parent = soft_rm_object(cl, parent_handle);
		if (!parent)
			return GP_RM_ERR_INVALID_OBJECT_PARENT;
	}
	if (*handle && (*handle == client || soft_rm_object(cl, *handle)))
		return GP_RM_ERR_INSERT_DUPLICATE_NAME;
	if (cl->object_count == SOFT_OBJECTS_MAX)
		return GP_RM_ERR_INSUFFICIENT_RESOURCES;
	for (uint32_t next = CHOSEN_HANDLE_BASE; !*handle; next++)
		if (!soft_rm_object(cl, next))
			*handle = next;
	o = calloc(1, sizeof(*o));
	if (!o)
		return GP_RM_ERR_NO_MEMORY;
	o->client = cl;
	o->handle = *handle;
	o->parent = parent_handle;
	o->cls = cls;
	status = make_object(call, o, parent);
	if (status) {
		free(o);
		return status;
	}
	o->next = cl->objects;
	cl->objects = o;
	cl->object_count++;
	return GP_RM_OK;
}

static int esc_alloc(struct rm_call *call)
{
	struct gp_rm_alloc64 *a64 = call->arg;
	struct gp_rm_alloc21 *a21 = call->arg;

	if (call->arg_bytes == sizeof(*a64)) {
		a64->status = alloc_object(call, a64->client, a64->parent, &a64->object, a64->cls);
		return 0;
	}
	if (call->arg_bytes == sizeof(*a21)) {
		a21->status = alloc_object(call, a21->client, a21->parent, &a21->object, a21->cls);
		return 0;
	}
	return -EINVAL;
}

static int esc_free(struct rm_call *call)
{
	struct gp_rm_free *f = call->arg;
	struct soft_client *cl;

	if (call->arg_bytes != sizeof(*f))
		return -EINVAL;
	cl = client_of_call(call, f->client, &f->status);
	if (!cl)
		return 0;
	f->status = GP_RM_OK;
	if (f->object == cl->handle)
		client_delete(call->s, cl);
	else if (soft_rm_object(cl, f->object))
		object_delete(call->s, cl, f->object);
	else
		f->status = GP_RM_ERR_OBJECT_NOT_FOUND;
	return 0;
}

/* ---- controls of a client ---------------------------------------------------- */

static uint32_t handle_info(struct soft_client *cl, struct gp_rm_handle_info *p)
{
	const struct soft_object *o = soft_rm_object(cl, p->object);
	const bool is_client = p->object == cl->handle;

	if (!o && !is_client)
		return GP_RM_ERR_OBJECT_NOT_FOUND;
	switch (p->index) {
	case GP_RM_HANDLE_PARENT:
		p->result = is_client ? 0 : o->parent;
		return GP_RM_OK;
	case GP_RM_HANDLE_CLASS:
		p->result = is_client ? GP_RM_CLASS_ROOT_CLIENT : o->cls;
		return GP_RM_OK;
	default:
		return GP_RM_ERR_INVALID_ARGUMENT;
	}
}

static void gpu_ids(const struct soft_server *s, uint32_t *id)
{
	for (uint32_t i = 0; i < 32; i++)
		id[i] = i < s->gpus ? GP_SOFT_GPU_ID(i) : GP_RM_GPU_INVALID_ID;
}

static const struct soft_gpu *gpu_by_id(const struct soft_server *s, uint32_t gpu_id)
{
	for (uint32_t i = 0; i < s->gpus; i++)
		if (gpu_id == GP_SOFT_GPU_ID(i))
			return &s->gpu[i];
	return NULL;
}

static uint32_t gpu_uuid(const struct soft_server *s, const struct soft_gpu *gpu,
			 struct gp_rm_uuid_from_gpu_id *p)
{
	const uint8_t uuid[16] = GP_SOFT_UUID(gpu ? gpu->index : 0, s->id);

	if (!gpu)
		return GP_RM_ERR_INVALID_ARGUMENT;
	if (p->flags != GP_RM_GID_BINARY_SHA1)
		return GP_RM_ERR_NOT_SUPPORTED;
	memcpy(p->uuid, uuid, sizeof(uuid));
	p->length = sizeof(uuid);
	return GP_RM_OK;
}

static uint32_t gpu_pci(const struct soft_gpu *gpu, struct gp_rm_pci_info *p)
{
	if (!gpu)
		return GP_RM_ERR_INVALID_ARGUMENT;
	p->domain = 0;
	p->bus = GP_SOFT_PCI_BUS(gpu->index);
	p->slot = 0;
	return GP_RM_OK;
}

static uint32_t gpu_id_info(const struct soft_gpu *gpu, struct gp_rm_id_info_v2 *p)
{
	if (!gpu)
		return GP_RM_ERR_INVALID_ARGUMENT;
	memset(p, 0, sizeof(*p));
	p->gpu_id = GP_SOFT_GPU_ID(gpu->index);
	p->board_id = p->gpu_id;
	p->device_instance = gpu->index;
	p->numa_id = -1;
	return GP_RM_OK;
}

static uint32_t attach_ids(const struct soft_server *s, struct gp_rm_attach_ids *p)
{
	p->failed_id = GP_RM_GPU_INVALID_ID;
	for (int i = 0; i < 32 && p->gpu_id[i] != GP_RM_GPU_INVALID_ID; i++) {
		if (p->gpu_id[i] == GP_RM_ATTACH_ALL || gpu_by_id(s, p->gpu_id[i]))
			continue;
		p->failed_id = p->gpu_id[i];
		return GP_RM_ERR_INVALID_ARGUMENT;
	}
	return GP_RM_OK;
}

/* Sizes are checked as RM does: exactly. */
#define SIZED(call, type) ((call)->params_bytes == sizeof(struct type))

static uint32_t control_client(struct rm_call *call, struct soft_client *cl, uint32_t cmd)
{
	const struct soft_server *s = call->s;

	switch (cmd) {
	case GP_RM_CTRL_GET_HANDLE_INFO:
		return SIZED(call, gp_rm_handle_info) ? handle_info(cl, call->params) :
							GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_GET_ATTACHED_IDS:
		if (!SIZED(call, gp_rm_attached_ids))
			return GP_RM_ERR_INVALID_PARAM_STRUCT;
		gpu_ids(s, call->params);
		return GP_RM_OK;
	case GP_RM_CTRL_GET_PROBED_IDS: {
		struct gp_rm_probed_ids *ids = call->params;

		if (!SIZED(call, gp_rm_probed_ids))
			return GP_RM_ERR_INVALID_PARAM_STRUCT;
		gpu_ids(s, ids->gpu_id);
		memset(ids->excluded_gpu_id, 0xff, sizeof(ids->excluded_gpu_id));
		memset(ids->gpu_flags, 0, sizeof(ids->gpu_flags));
		return GP_RM_OK;
	}
	case GP_RM_CTRL_GET_ID_INFO_V2:
		return SIZED(call, gp_rm_id_info_v2) ?
			       gpu_id_info(gpu_by_id(s, *(uint32_t *)call->params), call->params) :
			       GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_ATTACH_IDS:
		return SIZED(call, gp_rm_attach_ids) ? attach_ids(s, call->params) :
						       GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_GET_PCI_INFO:
		return SIZED(call, gp_rm_pci_info) ?
			       gpu_pci(gpu_by_id(s, *(uint32_t *)call->params), call->params) :
			       GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_GET_UUID_FROM_GPU_ID:
		return SIZED(call, gp_rm_uuid_from_gpu_id) ?
			       gpu_uuid(s, gpu_by_id(s, *(uint32_t *)call->params), call->params) :
			       GP_RM_ERR_INVALID_PARAM_STRUCT;
	default:
		return GP_RM_ERR_NOT_SUPPORTED;
	}
}

/* ---- controls of a group ------------------------------------------------------- */

static uint32_t status_of(int err)
{
	switch (err) {
	case 0:
		return GP_RM_OK;
	case -ENOENT:
		return GP_RM_ERR_OBJECT_NOT_FOUND;
	case -ENOSPC:
	case -ENOMEM:
		return GP_RM_ERR_INSUFFICIENT_RESOURCES;
	case -EOPNOTSUPP:
		return GP_RM_ERR_NOT_SUPPORTED;
	default:
		return GP_RM_ERR_INVALID_ARGUMENT;
	}
}

/* A slice of 0 is the shortest one, as on the card. */
static uint32_t set_timeslice(struct rm_call *call, struct soft_object *g)
{
	const struct gp_rm_tsg_timeslice *p = call->params;
	uint64_t us = p->us;

	if (us < call->s->cfg.min_slice_us)
		us = call->s->cfg.min_slice_us;
	return status_of(gp_model_set_slice(g->gpu->model, g->model, us));
}

static uint32_t get_timeslice(struct rm_call *call, const struct soft_object *g)
{
	struct gp_rm_tsg_timeslice *p = call->params;

	return status_of(gp_model_get_slice(g->gpu->model, g->model, &p->us));
}

/* The call waits until @gpu's model reports the end of the control of @group. */
static uint32_t control_wait(struct rm_call *call, const struct soft_gpu *gpu,
			     const uint32_t *group, size_t n, bool off)
{
	struct gp_model *m = gpu->model;
	int err;

	call->c->wake_ns = soft_now(call->s);
	soft_conn_block(call->s, call->c, SOFT_CONTROL);
	err = off ? gp_model_suspend(m, group, n, call->c->order) :
		    gp_model_resume(m, group, n, call->c->order);
	call->waits = !err;
	return status_of(err);
}

static uint32_t schedule(struct rm_call *call, struct soft_object *g)
{
	const struct gp_rm_tsg_schedule *p = call->params;
	int err = 0;

	g->scheduled = p->enable;
	if (g->off == !group_may_run(g))
		return GP_RM_OK;
	g->off = !g->off;
	if (g->off)
		err = gp_model_suspend(g->gpu->model, &g->model, 1, 0);
	else
		err = gp_model_resume(g->gpu->model, &g->model, 1, 0);
	return status_of(err);
}

/* With a wait the group is suspended and returns to its place. */
static uint32_t preempt(struct rm_call *call, struct soft_object *g)
{
	const struct gp_rm_tsg_preempt *p = call->params;

	if (g->off)
		return GP_RM_OK;
	if (!p->wait)
		return status_of(gp_model_preempt(g->gpu->model, g->model));
	if (!call->again)
		return control_wait(call, g->gpu, &g->model, 1, true);
	return status_of(gp_model_resume(g->gpu->model, &g->model, 1, 0));
}

static uint32_t control_group(struct rm_call *call, struct soft_object *g, uint32_t cmd)
{
	struct gp_rm_tsg_info *info = call->params;

	switch (cmd) {
	case GP_RM_CTRL_TSG_SCHEDULE:
		return SIZED(call, gp_rm_tsg_schedule) ? schedule(call, g) :
							 GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_TSG_SET_TIMESLICE:
		return SIZED(call, gp_rm_tsg_timeslice) ? set_timeslice(call, g) :
							  GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_TSG_GET_TIMESLICE:
		return SIZED(call, gp_rm_tsg_timeslice) ? get_timeslice(call, g) :
							  GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_TSG_PREEMPT:
		return SIZED(call, gp_rm_tsg_preempt) ? preempt(call, g) :
							GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_TSG_GET_INFO:
		if (!SIZED(call, gp_rm_tsg_info))
			return GP_RM_ERR_INVALID_PARAM_STRUCT;
		info->tsg_id = g->model;
		return GP_RM_OK;
	case CTRL_SET_INTERLEAVE:
		/* This needs the access right NICE; the model has one runlist level. */
		return call->c->proc->uid ? GP_RM_ERR_INSUFFICIENT_PERMISSIONS :
					    GP_RM_ERR_NOT_SUPPORTED;
	default:
		return GP_RM_ERR_NOT_SUPPORTED;
	}
}

/* ---- controls of a subdevice ------------------------------------------------------ */

static struct soft_object *disable_entry(struct rm_call *call, const struct soft_gpu *gpu,
					 const struct gp_rm_disable_channels *p, uint32_t i,
					 uint32_t *status)
{
	struct soft_client *cl = client_of_call(call, p->client[i], status);
	struct soft_object *o;

	if (!cl)
		return NULL;
	o = soft_rm_object(cl, p->channel[i]);
	if (o && gp_rm_class_is_channel(o->cls) && o->gpu == gpu)
		return o;
	*status = o ? GP_RM_ERR_INVALID_CHANNEL : GP_RM_ERR_OBJECT_NOT_FOUND;
	return NULL;
}

static uint32_t disable_channels(struct rm_call *call, const struct soft_gpu *gpu)
{
	const struct gp_rm_disable_channels *p = call->params;
	uint32_t group[GP_RM_DISABLE_MAX], status = GP_RM_OK;
	size_t n = 0;

	if (call->again)
		return GP_RM_OK;
	if (p->count > GP_RM_DISABLE_MAX || !p->count)
		return GP_RM_ERR_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < p->count; i++)
		if (!disable_entry(call, gpu, p, i, &status))
			return status;
	for (uint32_t i = 0; i < p->count; i++) {
		struct soft_object *o = disable_entry(call, gpu, p, i, &status);
		struct soft_object *g = soft_rm_object(o->client, o->parent);

		o->disabled = p->disable;
		if (g->off == !group_may_run(g))
			continue;
		g->off = !g->off;
		group[n++] = g->model;
	}
	return n ? control_wait(call, gpu, group, n, p->disable) : GP_RM_OK;
}

static uint32_t set_mode(struct rm_call *call, const struct soft_gpu *gpu, struct soft_client *cl)
{
	static const enum gp_preempt_mode mode[] = {
		[GP_RM_PREEMPT_WAIT_IDLE] = GP_PREEMPT_WAIT_IDLE,
		[GP_RM_PREEMPT_CTA] = GP_PREEMPT_BLOCK,
		[GP_RM_PREEMPT_CILP] = GP_PREEMPT_INSTRUCTION,
	};
	const struct gp_rm_preemption_mode *p = call->params;
	struct soft_object *o = soft_rm_object(cl, p->channel);

	if (!o)
		return GP_RM_ERR_OBJECT_NOT_FOUND;
	if (gp_rm_class_is_channel(o->cls))
		o = soft_rm_object(cl, o->parent);
	if (o->cls != GP_RM_CLASS_CHANNEL_GROUP || o->gpu != gpu)
		return GP_RM_ERR_INVALID_CHANNEL;
	if (!(p->flags & GP_RM_PREEMPT_SET_COMPUTE) || p->compute_mode > GP_RM_PREEMPT_CILP)
		return GP_RM_ERR_INVALID_ARGUMENT;
	return status_of(gp_model_set_mode(gpu->model, o->model, mode[p->compute_mode]));
}

static uint32_t gid_info(const struct soft_gpu *gpu, struct gp_rm_gid_info *p)
{
	const uint8_t uuid[16] = GP_SOFT_UUID(gpu->index, gpu->server->id);

	if (!(p->flags & GP_RM_GID_BINARY_SHA1))
		return GP_RM_ERR_NOT_SUPPORTED;
	memcpy(p->data, uuid, sizeof(uuid));
	p->length = sizeof(uuid);
	return GP_RM_OK;
}

static uint32_t gpu_name(struct gp_rm_gpu_name *p)
{
	memset(p->name, 0, sizeof(p->name));
	memcpy(p->name, GP_SOFT_DEVICE_NAME, sizeof(GP_SOFT_DEVICE_NAME));
	return GP_RM_OK;
}

static bool has_object(const struct soft_client *cl, const struct soft_gpu *gpu, uint32_t cls)
{
	for (const struct soft_object *o = cl->objects; o; o = o->next)
		if (o->cls == cls && o->gpu == gpu)
			return true;
	return false;
}

static uint32_t get_pids(const struct soft_gpu *gpu, struct gp_rm_get_pids *p)
{
	if (p->id_type != GP_RM_GET_PIDS_CLASS)
		return GP_RM_ERR_INVALID_ARGUMENT;
	p->count = 0;
	for (const struct soft_client *cl = gpu->server->clients; cl; cl = cl->next)
		if (has_object(cl, gpu, p->id) && p->count < GP_RM_GET_PIDS_MAX)
			p->pid[p->count++] = (uint32_t)cl->file->proc->pid;
	return GP_RM_OK;
}

/* The GPUs share the memory. */
static uint32_t fb_info(const struct soft_server *s, struct gp_soft_fb_info *fb)
{
	if (fb->count > GP_SOFT_FB_INFOS)
		return GP_RM_ERR_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < fb->count; i++)
		if (fb->info[i].index == GP_RM_FB_HEAP_SIZE)
			fb->info[i].data = (uint32_t)(s->memory_bytes >> 10);
		else if (fb->info[i].index == GP_RM_FB_HEAP_FREE)
			fb->info[i].data = (uint32_t)((s->memory_bytes - s->device_bytes) >> 10);
		else
			return GP_RM_ERR_INVALID_ARGUMENT;
	return GP_RM_OK;
}

static uint32_t control_subdevice(struct rm_call *call, struct soft_client *cl,
				  const struct soft_gpu *gpu, uint32_t cmd)
{
	struct gp_rm_bus_pci_info *pci = call->params;

	switch (cmd) {
	case GP_RM_CTRL_FIFO_DISABLE_CHANNELS:
		return SIZED(call, gp_rm_disable_channels) ? disable_channels(call, gpu) :
							     GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_GR_SET_CTXSW_PREEMPTION_MODE:
		return SIZED(call, gp_rm_preemption_mode) ? set_mode(call, gpu, cl) :
							    GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_GR_FECS_BIND_EVENT_BUFFER:
		return SIZED(call, gp_rm_fecs_bind) ? soft_log_bind(cl, gpu, call->params) :
						      GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_GPU_GET_PIDS:
		return SIZED(call, gp_rm_get_pids) ? get_pids(gpu, call->params) :
						     GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_GPU_GET_GID_INFO:
		return SIZED(call, gp_rm_gid_info) ? gid_info(gpu, call->params) :
						     GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_GPU_GET_NAME_STRING:
		return SIZED(call, gp_rm_gpu_name) ? gpu_name(call->params) :
						     GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_FB_GET_INFO:
		return SIZED(call, gp_soft_fb_info) ? fb_info(call->s, call->params) :
						      GP_RM_ERR_INVALID_PARAM_STRUCT;
	case GP_RM_CTRL_BUS_GET_PCI_INFO:
		if (!SIZED(call, gp_rm_bus_pci_info))
			return GP_RM_ERR_INVALID_PARAM_STRUCT;
		memset(pci, 0, sizeof(*pci));
		return GP_RM_OK;
	default:
		return GP_RM_ERR_NOT_SUPPORTED;
	}
}

static uint32_t control(struct rm_call *call, const struct gp_rm_control *ctl)
{
	uint32_t status = GP_RM_OK;
	struct soft_client *cl = client_of_call(call, ctl->client, &status);
	struct soft_object *o;

	if (!cl)
		return status;
	if (ctl->object == cl->handle)
		return control_client(call, cl, ctl->cmd);
	o = soft_rm_object(cl, ctl->object);
	if (!o)
		return GP_RM_ERR_OBJECT_NOT_FOUND;
	switch (o->cls) {
	case GP_RM_CLASS_CHANNEL_GROUP:
		return control_group(call, o, ctl->cmd);
	case GP_RM_CLASS_SUBDEVICE:
		return control_subdevice(call, cl, o->gpu, ctl->cmd);
	case GP_RM_CLASS_EVENT_BUFFER:
		return soft_log_control(o, ctl->cmd, call->params, call->params_bytes);
	default:
		return GP_RM_ERR_NOT_SUPPORTED;
	}
}

static int esc_control(struct rm_call *call)
{
	struct gp_rm_control *ctl = call->arg;

	if (call->arg_bytes != sizeof(*ctl))
		return -EINVAL;
	ctl->status = ctl->params_size == call->params_bytes ? control(call, ctl) :
							       GP_RM_ERR_INVALID_PARAM_STRUCT;
	return 0;
}

/* ---- the other escapes ---------------------------------------------------------------- */

/* The named new file becomes the memory's pages. */
static uint32_t map_file(struct rm_call *call, struct soft_object *o)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct soft_file *f = NULL;
	struct stat st;
	void *map;

	if (!fstat(call->c->file2, &st))
		f = file_find(call->s, st.st_dev, st.st_ino);
	if (!f || f == call->file || f->mapped)
		return GP_RM_ERR_INVALID_ARGUMENT;
	if (o->map_file)
		return GP_RM_ERR_STATE_IN_USE;
	if (ftruncate(call->c->file2, (off_t)o->map_bytes) ||
	    fcntl(call->c->file2, F_ADD_SEALS, seals))
		return GP_RM_ERR_OPERATING_SYSTEM;
	map = mmap(NULL, o->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, call->c->file2, 0);
	if (map == MAP_FAILED)
		return GP_RM_ERR_NO_MEMORY;
	memcpy(map, o->map, o->map_bytes);
	/* Others have the address, so the new pages go where the old were. */
	if (mremap(map, o->map_bytes, o->map_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, o->map) ==
	    MAP_FAILED) {
		munmap(map, o->map_bytes);
		return GP_RM_ERR_NO_MEMORY;
	}
	f->mapped = true;
	o->map_file = f;
	return GP_RM_OK;
}

static int esc_map(struct rm_call *call)
{
	struct gp_rm_map_memory *m = call->arg;
	struct soft_client *cl;
	struct soft_object *o;

	if (call->arg_bytes != sizeof(*m))
		return -EINVAL;
	cl = client_of_call(call, m->client, &m->status);
	if (!cl)
		return 0;
	o = soft_rm_object(cl, m->memory);
	if (!o || o->cls != GP_RM_CLASS_MEMORY_SYSTEM)
		m->status = GP_RM_ERR_OBJECT_NOT_FOUND;
	else if (m->offset || m->length > o->map_bytes)
		m->status = GP_RM_ERR_INVALID_ARGUMENT;
	else
		m->status = map_file(call, o);
	return 0;
}

static int esc_unmap(struct rm_call *call)
{
	struct gp_rm_unmap_memory *m = call->arg;
	struct soft_client *cl;

	if (call->arg_bytes != sizeof(*m))
		return -EINVAL;
	cl = client_of_call(call, m->client, &m->status);
	if (cl)
		m->status = soft_rm_object(cl, m->memory) ? GP_RM_OK : GP_RM_ERR_OBJECT_NOT_FOUND;
	return 0;
}

static int esc_card_info(struct rm_call *call)
{
	struct gp_rm_card_info *card = call->arg;

	if (!call->arg_bytes || call->arg_bytes % sizeof(*card))
		return -EINVAL;
	if (call->arg_bytes / sizeof(*card) < call->s->gpus)
		return -EINVAL;
	memset(call->arg, 0, call->arg_bytes);
	for (uint32_t i = 0; i < call->s->gpus; i++) {
		card[i].valid = 1;
		card[i].pci_bus = (uint8_t)GP_SOFT_PCI_BUS(i);
		card[i].pci_vendor = 0x10de;
		card[i].gpu_id = GP_SOFT_GPU_ID(i);
		card[i].fb_bytes = SOFT_VRAM_BYTES;
		card[i].minor = i;
	}
	return 0;
}

static int esc_version(struct rm_call *call)
{
	struct gp_rm_version *v = call->arg;

	if (call->arg_bytes != sizeof(*v))
		return -EINVAL;
	v->reply = v->cmd == GP_RM_VERSION_QUERY ||
		   !strncmp(v->string, GP_SOFT_DRIVER_VERSION, sizeof(v->string));
	memset(v->string, 0, sizeof(v->string));
	memcpy(v->string, GP_SOFT_DRIVER_VERSION, sizeof(GP_SOFT_DRIVER_VERSION));
	return 0;
}

/* The event's file is a memfd, which is always readable for poll. */
static int esc_os_event(struct rm_call *call)
{
	struct gp_rm_os_event *e = call->arg;

	if (call->arg_bytes != sizeof(*e))
		return -EINVAL;
	e->status = GP_RM_OK;
	client_of_call(call, e->client, &e->status);
	return 0;
}

static int escape(struct rm_call *call)
{
	switch (call->nr) {
	case GP_RM_ESC_ALLOC:
		return esc_alloc(call);
	case GP_RM_ESC_FREE:
		return esc_free(call);
	case GP_RM_ESC_CONTROL:
		return esc_control(call);
	case GP_RM_ESC_MAP_MEMORY:
		return esc_map(call);
	case GP_RM_ESC_UNMAP_MEMORY:
		return esc_unmap(call);
	case GP_RM_ESC_CARD_INFO:
		return esc_card_info(call);
	case GP_RM_ESC_CHECK_VERSION:
		return esc_version(call);
	case GP_RM_ESC_REGISTER_FD:
		return call->arg_bytes == sizeof(struct gp_rm_register_fd) ? 0 : -EINVAL;
	case GP_RM_ESC_ALLOC_OS_EVENT:
	case GP_RM_ESC_FREE_OS_EVENT:
		return esc_os_event(call);
	default:
		return -ENOTTY;
	}
}

int soft_rm_ioctl(struct soft_server *s, struct soft_conn *c)
{
	struct rm_call call;
	int err;

	if (!parse(s, c, &call) || !c->has_file)
		return -EINVAL;
	call.again = c->state == SOFT_CONTROL;
	call.file = file_find(s, c->file_dev, c->file_ino);
	if (!call.file)
		return -EBADF;
	err = escape(&call);
	if (err || call.waits)
		return err;
	soft_reply(s, c, 0, 0, 0, call.arg, c->bytes - sizeof(struct gp_soft_req), -1);
	return 0;
}

/* ---- costs of calls --------------------------------------------------------------------- */

static uint64_t control_cost(struct soft_server *s, const struct rm_call *call)
{
	const struct gp_rm_control *ctl = call->arg;
	const uint8_t *first = call->params;
	const bool on = call->params_bytes && *first;

	switch (ctl->cmd) {
	case GP_RM_CTRL_TSG_SET_TIMESLICE:
		return s->cfg.set_slice_ns;
	case GP_RM_CTRL_TSG_PREEMPT:
		return on ? PREEMPT_WAIT_COST_NS : PREEMPT_COST_NS;
	case GP_RM_CTRL_TSG_SCHEDULE:
		return SCHEDULE_COST_NS;
	case GP_RM_CTRL_GR_SET_CTXSW_PREEMPTION_MODE:
		return MODE_COST_NS;
	case CTRL_SET_INTERLEAVE:
		return INTERLEAVE_COST_NS;
	default:
		return QUERY_COST_NS;
	}
}

void soft_rm_cost(struct soft_server *s, struct soft_conn *c, uint64_t *ns)
{
	struct rm_call call;

	*ns = QUERY_COST_NS;
	if (!parse(s, c, &call))
		return;
	if (call.nr == GP_RM_ESC_ALLOC || call.nr == GP_RM_ESC_FREE)
		*ns = ALLOC_COST_NS;
	else if (call.nr == GP_RM_ESC_CONTROL && call.arg_bytes == sizeof(struct gp_rm_control))
		*ns = control_cost(s, &call);
}
