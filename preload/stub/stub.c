// SPDX-License-Identifier: Apache-2.0
/*
 * stub.c - libgpreempt-preload.so, which LD_PRELOAD brings into every program. It needs no
 * library and no symbol version. So any C library can load it. When a program turns to a GPU,
 * the stub opens libgpreempt-layer.so, which is beside it. If that fails, the program continues
 * with the driver alone.
 *
 * The stub comes before the driver in three ways:
 *
 * - dlsym() and dlvsym(), by which CUDA's runtime finds cuGetProcAddress
 * - the driver's exported names, for programs that link with libcuda
 * - ioctl(), for libcuda's RM calls and for AMD's
 *
 * CUDA_INJECTION64_PATH loads it as well. trampolines.c has the entries of the first two.
 */
#include "preload/stub/stub.h"

#include <stdatomic.h>
#include <sys/types.h>

#include "preload/stub/elf.h"

#define PUBLIC __attribute__((visibility("default")))
#define RTLD_NOW_LOCAL 2
#define RTLD_LAZY_LOADED (1 | 4) /* RTLD_LAZY | RTLD_NOLOAD */
#define RTLD_DEFAULT_SCOPE ((void *)0)
#define RTLD_NEXT_OBJECT ((void *)-1l)
#define IOCTL_TYPE(request) (((request) >> 8) & 0xff)
#define CUDA_ERROR_NOT_INITIALIZED 3
#define PATH_LEN 4096
#define LINE_LEN 1024

/* Weak: the stub has no libraries. Each of these is NULL if the program has none either. */
#define WEAK __attribute__((weak, visibility("default")))
int dl_iterate_phdr(int (*each)(struct dl_phdr_info *info, size_t size, void *arg), void *arg) WEAK;
extern struct r_debug _r_debug WEAK;
char *getenv(const char *name) WEAK;
int *__errno_location(void) WEAK;
ssize_t write(int fd, const void *bytes, size_t size) WEAK;
long syscall(long number, ...) WEAK;

PUBLIC int ioctl(int fd, unsigned long request, void *arg);
PUBLIC int InitializeInjection(void);

#define GP_CALL(kind, name, symbol, ...) GP_SEEN_##kind(#symbol, )
static const char *const names[] = {
#include "preload/driver_calls.def"
};

/* ---- functions of other objects ------------------------------------------------ */

struct search {
	const char *name;
	bool after_stub; /* only objects behind this one */
	bool libc;	 /* only the C library, or its libdl */
	bool passed;
	void *found;
};

static bool starts(const char *text, const char *with)
{
	while (*with && *text == *with) {
		text++;
		with++;
	}
	return !*with;
}

static bool same(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return *a == *b;
}

/* musl is one object, with one of two names. */
static bool is_libc(const struct gp_elf *elf, const char *path)
{
	const char *file = elf->soname ? elf->soname : path;

	for (const char *p = file; *p; p++)
		if (*p == '/')
			file = p + 1;
	return starts(file, "libc.so") || starts(file, "libdl.so") || starts(file, "libc.musl-") ||
	       starts(file, "ld-musl-");
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	struct gp_elf elf;

	if (gp_elf_contains(info, (const void *)names)) {
		s->passed = true;
		return 0;
	}
	if ((s->after_stub && !s->passed) || !gp_elf_read(info, &elf))
		return 0;
	if (s->libc && !is_libc(&elf, info->dlpi_name ? info->dlpi_name : ""))
		return 0;
	s->found = gp_elf_function(&elf, s->name);
	return s->found != NULL;
}

typedef int (*iterate_fn)(int (*each)(struct dl_phdr_info *info, size_t size, void *arg),
			  void *arg);

/*
 * The C library's dl_iterate_phdr(). ThreadSanitizer has one of its own, which fails before its
 * start, and it calls dlsym() by then. The list of objects has the C library in its part that
 * never changes.
 */
static iterate_fn libc_iterate(void)
{
	static _Atomic(void *) cache;
	void *fn = atomic_load_explicit(&cache, memory_order_acquire);
	struct gp_elf elf;

	if (!fn && &_r_debug)
		for (const struct link_map *m = _r_debug.r_map; m && !fn; m = m->l_next)
			if (gp_elf_read_dynamic(m->l_addr, m->l_ld, &elf) &&
			    is_libc(&elf, m->l_name ? m->l_name : ""))
				fn = gp_elf_function(&elf, "dl_iterate_phdr");
	if (!fn)
		fn = (void *)dl_iterate_phdr;
	atomic_store_explicit(&cache, fn, memory_order_release);
	return (iterate_fn)fn;
}

static void *search(const char *name, bool after_stub, bool libc)
{
	struct search s = { .name = name, .after_stub = after_stub, .libc = libc };
	const iterate_fn iterate = libc_iterate();

	if (iterate)
		iterate(look, &s);
	return s.found;
}

/* The C library's own. */
static void *libc_function(_Atomic(void *) *cache, const char *name)
{
	void *fn = atomic_load_explicit(cache, memory_order_acquire);

	if (!fn) {
		fn = search(name, false, true);
		atomic_store_explicit(cache, fn, memory_order_release);
	}
	return fn;
}

/* The next one behind the stub's, so that other preloads get their call. */
static void *next_function(_Atomic(void *) *cache, const char *name)
{
	void *fn = atomic_load_explicit(cache, memory_order_acquire);

	if (!fn) {
		/* An injected stub is behind the C library. */
		fn = search(name, true, true) ? search(name, true, false) :
						search(name, false, true);
		atomic_store_explicit(cache, fn, memory_order_release);
	}
	return fn;
}

typedef void *(*dlsym_fn)(void *handle, const char *symbol);
typedef void *(*dlvsym_fn)(void *handle, const char *symbol, const char *version);
typedef void *(*dlopen_fn)(const char *path, int flags);
typedef char *(*dlerror_fn)(void);

static _Atomic(void *) libc_dlsym, libc_dlvsym, libc_dlopen, libc_dlerror;
static _Atomic(void *) next_dlsym, next_dlvsym, next_ioctl;

static void *real_dlsym(void *handle, const char *symbol)
{
	dlsym_fn fn = (dlsym_fn)libc_function(&libc_dlsym, "dlsym");

	return fn ? fn(handle, symbol) : NULL;
}

static void *real_dlopen(const char *path, int flags)
{
	dlopen_fn fn = (dlopen_fn)libc_function(&libc_dlopen, "dlopen");

	return fn ? fn(path, flags) : NULL;
}

/* Also forgets it: a program must not find our errors. */
static const char *real_dlerror(void)
{
	dlerror_fn fn = (dlerror_fn)libc_function(&libc_dlerror, "dlerror");
	const char *text = fn ? fn() : NULL;

	return text ? text : "no dlopen in this program";
}

/* ---- the library ------------------------------------------------------------- */

static const struct gp_layer none; /* its address means: the library failed to load */
static const struct gp_layer *_Atomic loaded;
static struct gp_stub stub = {
	.abi = GP_LAYER_ABI,
	.calls = GP_CALL_IDS,
	.lookup = (void *)dlsym,
	.lookup_version = (void *)dlvsym,
	.exported = gp_stub_exported,
};

static size_t append(char *line, size_t size, size_t n, const char *text)
{
	while (*text && n + 1 < size)
		line[n++] = *text++;
	line[n] = '\0';
	return n;
}

static void say(const char *path, const char *why)
{
	static atomic_int said;
	char line[LINE_LEN];
	size_t n = 0;

	if (atomic_exchange(&said, 1) || !write)
		return;
	n = append(line, sizeof(line) - 1, n, "gpreempt: ");
	n = append(line, sizeof(line) - 1, n, path);
	n = append(line, sizeof(line) - 1, n, ": ");
	n = append(line, sizeof(line) - 1, n, why);
	n = append(line, sizeof(line) - 1, n, "; continuing without gpreempt");
	line[n++] = '\n';
	if (write(2, line, n) < 0)
		return;
}

struct own_path {
	char *path;
	size_t size;
};

/* The library's path: in the folder of this object. */
static int find_self(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct own_path *own = arg;
	size_t n, end = 0;

	if (!gp_elf_contains(info, (const void *)names))
		return 0;
	n = append(own->path, own->size, 0, info->dlpi_name ? info->dlpi_name : "");
	for (size_t i = 0; i < n; i++)
		if (own->path[i] == '/')
			end = i + 1;
	append(own->path, own->size, end, GP_LAYER_FILE);
	return 1;
}

static bool disabled(void)
{
	const char *value = getenv ? getenv("GPREEMPT_DISABLE") : NULL;

	return value && same(value, "1");
}

/*
 * Threads may come here at the same time: each gets the same answer. No thread waits for
 * another, because one of them may own the linker's lock.
 */
static const struct gp_layer *load(void)
{
	const struct gp_layer *(*open)(const struct gp_stub *stub) = NULL;
	const struct gp_layer *layer = NULL;
	char path[PATH_LEN] = { '\0' };
	struct own_path own = { path, sizeof(path) };
	void *library;

	if (!disabled() && libc_iterate()) {
		libc_iterate()(find_self, &own);
		*(void **)&stub.libc_dlsym = libc_function(&libc_dlsym, "dlsym");
		stub.libc_dlvsym = libc_function(&libc_dlvsym, "dlvsym");
		library = real_dlopen(path, RTLD_NOW_LOCAL);
		if (library)
			*(void **)&open = real_dlsym(library, GP_LAYER_SYMBOL);
		if (open)
			layer = open(&stub);
		if (!layer)
			say(path, open ? "of another release" : real_dlerror());
	}
	atomic_store_explicit(&loaded, layer ? layer : &none, memory_order_release);
	return layer;
}

static const struct gp_layer *get_layer(void)
{
	const struct gp_layer *layer = atomic_load_explicit(&loaded, memory_order_acquire);

	if (!layer)
		return load();
	return layer == &none ? NULL : layer;
}

static void *answer(unsigned int id, void *found)
{
	const struct gp_layer *layer = found ? get_layer() : NULL;

	return layer ? layer->answer(id, found) : found;
}

/* ---- dlsym --------------------------------------------------------------------- */

/* GP_CALL_IDS: not a call that the layer sees. */
static unsigned int call_id(const char *name)
{
	if (!name || name[0] != 'c' || name[1] != 'u' || name[2] < 'A' || name[2] > 'Z')
		return GP_CALL_IDS;
	for (unsigned int id = 0; id < GP_CALL_IDS; id++)
		if (same(names[id], name))
			return id;
	return GP_CALL_IDS;
}

/*
 * A search of the whole program finds the stub's own name first, so this looks behind it.
 */
static void *find_behind(const char *name)
{
	void *libcuda, *found;

	found = real_dlsym(RTLD_NEXT_OBJECT, name);
	if (found)
		return found;
	libcuda = real_dlopen("libcuda.so.1", RTLD_LAZY_LOADED);
	if (libcuda)
		return real_dlsym(libcuda, name);
	/* Again, for its error. */
	return real_dlsym(RTLD_NEXT_OBJECT, name);
}

/*
 * RTLD_NEXT means behind the caller, and the C library knows the caller by its return address.
 * So that, and each name that the layer does not see, continues there by a jump.
 */
struct gp_stub_answer gp_stub_dlsym(void *handle, const char *name)
{
	struct gp_stub_answer a = { NULL, NULL };
	const unsigned int id = call_id(name);
	dlsym_fn next;

	if (handle == RTLD_NEXT_OBJECT) {
		a.jump = libc_function(&libc_dlsym, "dlsym");
		return a;
	}
	next = (dlsym_fn)next_function(&next_dlsym, "dlsym");
	if (id == GP_CALL_IDS) {
		a.jump = (void *)next;
		return a;
	}
	get_layer(); /* first, because its errors would hide those of dlsym */
	a.found = handle == RTLD_DEFAULT_SCOPE ? find_behind(name) :
		  next			       ? next(handle, name) :
						 NULL;
	a.found = answer(id, a.found);
	return a;
}

struct gp_stub_answer gp_stub_dlvsym(void *handle, const char *name, const char *version)
{
	struct gp_stub_answer a = { NULL, NULL };
	const unsigned int id = call_id(name);
	dlvsym_fn next;

	if (handle == RTLD_NEXT_OBJECT || handle == RTLD_DEFAULT_SCOPE) {
		a.jump = libc_function(&libc_dlvsym, "dlvsym");
		return a;
	}
	next = (dlvsym_fn)next_function(&next_dlvsym, "dlvsym");
	if (id == GP_CALL_IDS) {
		a.jump = (void *)next;
		return a;
	}
	get_layer();
	a.found = next ? next(handle, name, version) : NULL;
	a.found = answer(id, a.found);
	return a;
}

/* ---- the driver's exported names ---------------------------------------------- */

static int no_driver(void)
{
	return CUDA_ERROR_NOT_INITIALIZED;
}

void *gp_stub_bind(unsigned int id)
{
	void *found = answer(id, find_behind(names[id]));

	if (!found || found == gp_stub_exported[id])
		return (void *)no_driver;
	__atomic_store_n(&gp_stub_slot[id], found, __ATOMIC_RELEASE);
	return found;
}

/* ---- ioctl, injection ------------------------------------------------------------ */

static int real_ioctl(int fd, unsigned long request, void *arg)
{
	gp_ioctl_fn next = (gp_ioctl_fn)next_function(&next_ioctl, "ioctl");

	if (next)
		return next(fd, request, arg);
	return syscall ? (int)syscall(GP_STUB_SYS_IOCTL, fd, request, arg) : -1;
}

/* Loading it must not change the program's errno. */
static const struct gp_layer *get_layer_quietly(void)
{
	const int saved = __errno_location ? *__errno_location() : 0;
	const struct gp_layer *layer = get_layer();

	if (__errno_location)
		*__errno_location() = saved;
	return layer;
}

/* The layer comes around the KFD's calls: some of them it changes. */
static int kfd_ioctl(int fd, unsigned long request, void *arg)
{
	const struct gp_layer *layer = get_layer_quietly();

	return layer ? layer->kfd_ioctl(fd, request, arg, real_ioctl) :
		       real_ioctl(fd, request, arg);
}

/* 'K' and 'F': the types of the KFD's and the RM's calls. */
int ioctl(int fd, unsigned long request, void *arg)
{
	const struct gp_layer *layer;
	int result, saved;

	if (IOCTL_TYPE(request) == 'K')
		return kfd_ioctl(fd, request, arg);
	result = real_ioctl(fd, request, arg);
	if (IOCTL_TYPE(request) != 'F')
		return result;
	saved = __errno_location ? *__errno_location() : 0;
	layer = get_layer();
	if (layer)
		layer->after_ioctl(fd, request, arg, result);
	if (__errno_location)
		*__errno_location() = saved;
	return result;
}

int InitializeInjection(void)
{
	const struct gp_layer *layer = get_layer();

	return layer ? layer->inject() : 1;
}
