// SPDX-License-Identifier: Apache-2.0
/*
 * calls.c - the exported driver API, and the callbacks that observe its calls. An unobserved
 * call costs one check of a flag. The library's own calls are not observed: they use
 * do_cuNAME().
 */
#include <errno.h>
#include <stdatomic.h>

#include "softgpu/cuda/calls.h"
#include "softgpu/cuda/face.h"

enum {
	CALL_NONE,
#define X(n, name, ...) CALL_##name,
	FACE_API(X)
#undef X
	CALLS
};

/* One call, from its entry to its exit. */
struct seen {
	struct cupti_callback_data data;
	uint64_t watcher; /* number of the watcher that saw the entry */
	uint64_t correlation;
	uint32_t id;
};

static atomic_bool wanted[CALLS];
static atomic_uint correlation_ids;
static struct watcher {
	cupti_callback_fn fn; /* NULL: no watcher */
	void *user;
	uint64_t number; /* counts watchers */
} watcher;		 /* face_lock */

static struct watcher watcher_now(void)
{
	struct watcher now;

	pthread_mutex_lock(&face_lock);
	now = watcher;
	pthread_mutex_unlock(&face_lock);
	return now;
}

/* No lock is held during the callback, because it may call the API. */
static void tell(struct seen *seen, uint32_t site)
{
	const struct watcher now = watcher_now();
	struct face_ctx *ctx = face_ctx_top();

	/* A watcher that came in the middle of a call does not see its exit. */
	if (!now.fn || now.number != seen->watcher)
		return;
	seen->data.site = site;
	seen->data.context = ctx;
	seen->data.context_uid = ctx ? ctx->group : 0;
	now.fn(now.user, CUPTI_DOMAIN_DRIVER_API, seen->id, &seen->data);
}

static void enter(struct seen *seen, uint32_t id, const void *params, CUresult *result)
{
	*seen = (struct seen){
		.data.function_name = gp_soft_calls_name(id),
		.data.params = params,
		.data.return_value = result,
		.data.correlation = &seen->correlation,
		.data.correlation_id = atomic_fetch_add(&correlation_ids, 1) + 1,
		.watcher = watcher_now().number,
		.id = id,
	};
	tell(seen, CUPTI_API_ENTER);
}

static bool is_wanted(uint32_t id)
{
	return atomic_load_explicit(&wanted[id], memory_order_relaxed);
}

#define FIELD(type, name) type name;
#define FIELD_NONE
#define FIELDS(n, ...) FACE_EACH_##n(FIELD, FACE_NOTHING, __VA_ARGS__)
#define VALUE(type, name) name
#define VALUE_NONE
#define VALUES(n, ...) FACE_EACH_##n(VALUE, FACE_COMMA, __VA_ARGS__)

#define X(n, name, ...)                                            \
	FACE_EXPORT CUresult name(FACE_PARAMETERS(n, __VA_ARGS__)) \
	{                                                          \
		const struct {                                     \
			FIELDS(n, __VA_ARGS__)                     \
		} words = { VALUES(n, __VA_ARGS__) };              \
		CUresult result = CUDA_SUCCESS;                    \
		struct seen seen;                                  \
                                                                   \
		if (!is_wanted(CALL_##name))                       \
			return do_##name(VALUES(n, __VA_ARGS__));  \
		enter(&seen, CALL_##name, &words, &result);        \
		result = do_##name(VALUES(n, __VA_ARGS__));        \
		tell(&seen, CUPTI_API_EXIT);                       \
		return result;                                     \
	}
FACE_API(X)
#undef X

#define X(n, name, ...) extern __typeof__(name) own_##name __attribute__((alias(#name)));
FACE_API(X)
#undef X

/* ---- the watcher ------------------------------------------------------------- */

int gp_soft_calls_watch(cupti_callback_fn fn, void *user)
{
	int err = -EBUSY;

	pthread_mutex_lock(&face_lock);
	if (!watcher.fn) {
		watcher.fn = fn;
		watcher.user = user;
		watcher.number++;
		err = 0;
	}
	pthread_mutex_unlock(&face_lock);
	return err;
}

void gp_soft_calls_unwatch(void)
{
	pthread_mutex_lock(&face_lock);
	for (uint32_t id = 1; id < CALLS; id++)
		atomic_store(&wanted[id], false);
	watcher.fn = NULL;
	pthread_mutex_unlock(&face_lock);
}

int gp_soft_calls_see(uint32_t id, bool on)
{
	int err = -EINVAL;

	pthread_mutex_lock(&face_lock);
	if (watcher.fn && id && id < CALLS) {
		atomic_store(&wanted[id], on);
		err = 0;
	}
	pthread_mutex_unlock(&face_lock);
	return err;
}
