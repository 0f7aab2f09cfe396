// SPDX-License-Identifier: Apache-2.0
/*
 * metrics.c - the text of the metrics, and where it is served. A text lasts for some
 * milliseconds, so that a flood of requests costs little.
 */
#include "daemon/serve/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/serve/http.h"
#include "gpreempt/hal.h"
#include "runtime/class.h"

#define BACKLOG 16
#define TEXT_NS 20000000u
#define TENANTS_MAX 1024u
#define ACCOUNTS_MAX 513u
#define UUID_LEN 48
#define TYPE "text/plain; version=0.0.4; charset=utf-8"
/* Each is a doubling: 16 buckets of gp_hist, except the first and last ones. */
#define LE_STEP 16u

/*
 * @text: the last answer, generated at @text_ns; NULL: none yet
 */
struct gp_metrics {
	struct gp_http *http;
	struct MHD_Response *text;
	uint64_t text_ns;
	const struct gp_view_ops *ops;
	void *arg;
	char path[sizeof(((struct gp_config_metrics *)0)->path)]; /* "": none */
};

/* State of one answer. */
struct page {
	const struct gp_metrics *m;
	FILE *out;
	struct gp_wire_device device[GP_WIRE_MAX_DEVICES];
	char uuid[GP_WIRE_MAX_DEVICES][UUID_LEN];
	size_t devices;
	struct gp_wire_tenant *tenant;
	size_t tenants;
	struct gp_view_account (*account)[ACCOUNTS_MAX]; /* of each device */
};

/* ---- the text ------------------------------------------------------------------ */

static void family(struct page *p, const char *name, const char *type, const char *help)
{
	fprintf(p->out, "# HELP gpreempt_%s %s\n# TYPE gpreempt_%s %s\n", name, help, name, type);
}

/* In quotes, escaped as the format requires. */
static void quoted(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			fputc('\\', out);
		if (*text == '\n')
			fputs("\\n", out);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

static void device_info(struct page *p)
{
	family(p, "device_info", "gauge", "A device that the daemon manages.");
	for (size_t i = 0; i < p->devices; i++) {
		fprintf(p->out, "gpreempt_device_info{device=\"%s\",name=", p->uuid[i]);
		quoted(p->out, p->device[i].name);
		fputs(",be_policy=", p->out);
		quoted(p->out, p->device[i].be_policy);
		fputs(",lc_policy=", p->out);
		quoted(p->out, p->device[i].lc_policy);
		fputs("} 1\n", p->out);
	}
}

enum unit {
	COUNT,
	SECONDS,
	PERCENT
};

struct field {
	const char *name, *type, *help;
	size_t offset;
	size_t bytes;
	enum unit unit;
};

#define FIELD(member, fname, ftype, funit, fhelp)                                   \
	{                                                                           \
		.name = (fname), .type = (ftype), .help = (fhelp), .unit = (funit), \
		.offset = offsetof(struct gp_wire_device, member),                  \
		.bytes = sizeof(((struct gp_wire_device *)0)->member)               \
	}

static const struct field fields[] = {
	FIELD(up_ns, "device_up_seconds", "gauge", SECONDS,
	      "Time since the daemon manages the device."),
	FIELD(groups, "compute_groups", "gauge", COUNT, "Compute groups of all tenants."),
	FIELD(quantum_ns, "be_quantum_seconds", "gauge", SECONDS,
	      "Turn of a best-effort tenant of the default weight."),
	FIELD(be_min_pct, "be_min_ratio", "gauge", PERCENT,
	      "Least share of best-effort, however busy latency-critical is."),
	FIELD(turns, "turns_total", "counter", COUNT, "Turns of best-effort tenants."),
	FIELD(suspends, "suspends_total", "counter", COUNT, "Suspends of groups."),
	FIELD(resumes, "resumes_total", "counter", COUNT, "Resumes of groups."),
	FIELD(slices, "timeslice_sets_total", "counter", COUNT, "Timeslices that were set."),
	FIELD(preempts, "preempts_total", "counter", COUNT, "Preempts of groups."),
	FIELD(failed, "hal_op_failures_total", "counter", COUNT,
	      "Suspends, resumes, timeslices and preempts that failed."),
	FIELD(control_ns, "hal_op_seconds_total", "counter", SECONDS,
	      "Time that suspends, resumes, timeslices and preempts took."),
	FIELD(log_lost, "log_lost_records_total", "counter", COUNT,
	      "Records of the device's context-switch log that were lost."),
};

static void value(FILE *out, uint64_t number, enum unit unit)
{
	switch (unit) {
	case SECONDS:
		fprintf(out, " %llu.%09llu\n", (unsigned long long)(number / 1000000000u),
			(unsigned long long)(number % 1000000000u));
		break;
	case PERCENT:
		fprintf(out, " %.2f\n", (double)number / 100);
		break;
	default:
		fprintf(out, " %llu\n", (unsigned long long)number);
	}
}

static void device_field(struct page *p, const struct field *f)
{
	uint64_t number;
	uint32_t number32;

	family(p, f->name, f->type, f->help);
	for (size_t i = 0; i < p->devices; i++) {
		const char *at = (const char *)&p->device[i] + f->offset;

		memcpy(&number32, at, sizeof(number32));
		if (f->bytes == sizeof(number))
			memcpy(&number, at, sizeof(number));
		else
			number = number32;
		/* Without a source there is no sample. */
		if (f->bytes == sizeof(number) && number == GP_WIRE_UNKNOWN)
			continue;
		fprintf(p->out, "gpreempt_%s{device=\"%s\"}", f->name, p->uuid[i]);
		value(p->out, number, f->unit);
	}
}

static const char *const class_name[] = {
	[GP_CLASS_NONE] = "none",
	[GP_CLASS_LC] = "lc",
	[GP_CLASS_BE] = "be",
};
#define CLASSES (sizeof(class_name) / sizeof(class_name[0]))

/* Tenants with all of @flags (0: all tenants). */
static void tenants(struct page *p, const char *name, uint32_t flags, const char *help)
{
	uint64_t count;

	family(p, name, "gauge", help);
	for (size_t i = 0; i < p->devices; i++)
		for (uint32_t cls = 0; cls < CLASSES; cls++) {
			count = 0;
			for (size_t t = 0; t < p->tenants; t++)
				count += p->tenant[t].origin != GP_WIRE_BY_POOL &&
					 p->tenant[t].request.cls == cls &&
					 (p->tenant[t].flags & flags) == flags &&
					 !memcmp(p->tenant[t].uuid, p->device[i].uuid,
						 sizeof(p->device[i].uuid));
			fprintf(p->out, "gpreempt_%s{device=\"%s\",class=\"%s\"}", name, p->uuid[i],
				class_name[cls]);
			value(p->out, count, COUNT);
		}
}

static bool same_clients(const struct gp_wire_tenant *a, const struct gp_wire_tenant *b)
{
	return a->origin == GP_WIRE_BY_POOL && b->origin == GP_WIRE_BY_POOL &&
	       a->request.cls == b->request.cls && !strcmp(a->comm, b->comm) &&
	       !memcmp(a->uuid, b->uuid, sizeof(a->uuid));
}

/* One sample for each name. */
static void clients_sample(struct page *p, size_t first)
{
	const struct gp_wire_tenant *t = &p->tenant[first];
	char uuid[sizeof(p->uuid[0])];
	uint64_t count = 0;

	for (size_t i = 0; i < p->tenants; i++) {
		if (!same_clients(t, &p->tenant[i]))
			continue;
		if (i < first)
			return;
		count++;
	}
	gp_uuid_format(t->uuid, uuid, sizeof(uuid));
	fprintf(p->out, "gpreempt_pool_clients{device=\"%s\",class=\"%s\",command=", uuid,
		class_name[t->request.cls]);
	quoted(p->out, t->comm);
	fputc('}', p->out);
	value(p->out, count, COUNT);
}

static void clients(struct page *p)
{
	family(p, "pool_clients", "gauge", "Clients of MPS pools, by their names.");
	for (size_t i = 0; i < p->tenants; i++)
		if (p->tenant[i].origin == GP_WIRE_BY_POOL)
			clients_sample(p, i);
}

static void used(struct page *p)
{
	uint64_t ns;

	if (!p->m->ops->used_ns)
		return;
	family(p, "used_seconds_total", "counter",
	       "Time that tenants had the device, by its log or its driver.");
	for (size_t i = 0; i < p->devices; i++)
		for (uint32_t cls = 0; cls < CLASSES; cls++) {
			ns = p->m->ops->used_ns(p->m->arg, i, cls);
			if (ns == GP_WIRE_UNKNOWN)
				continue;
			fprintf(p->out, "gpreempt_used_seconds_total{device=\"%s\",class=\"%s\"}",
				p->uuid[i], class_name[cls]);
			value(p->out, ns, SECONDS);
		}
}

#define ACCOUNT(member, fname, ftype, funit, fhelp)                                 \
	{                                                                           \
		.name = (fname), .type = (ftype), .help = (fhelp), .unit = (funit), \
		.offset = offsetof(struct gp_view_account, member)                  \
	}

static const struct field account_fields[] = {
	ACCOUNT(used_ns, "container_used_seconds_total", "counter", SECONDS,
		"Time that a container's processes had the device."),
	ACCOUNT(waited_ns, "container_waited_seconds_total", "counter", SECONDS,
		"Time from having work to a turn, or from requesting the device to having it."),
	ACCOUNT(held_ns, "container_held_seconds_total", "counter", SECONDS, "Length of holds."),
	ACCOUNT(turns, "container_turns_total", "counter", COUNT, "Turns."),
	ACCOUNT(preempted, "container_preempted_total", "counter", COUNT,
		"Turns that ended before the work did."),
	ACCOUNT(movable, "container_memory_movable_bytes", "gauge", COUNT,
		"Memory on the device that can leave."),
	ACCOUNT(fixed, "container_memory_fixed_bytes", "gauge", COUNT,
		"Memory on the device that stays."),
	ACCOUNT(out, "container_memory_out_bytes", "gauge", COUNT,
		"Memory that left the device, and is on the host."),
	ACCOUNT(pinned, "container_memory_pinned_bytes", "gauge", COUNT,
		"Memory of the host that is pinned for memory that leaves."),
	ACCOUNT(moves, "container_memory_moves_total", "counter", COUNT,
		"Times that memory left the device."),
	ACCOUNT(moved, "container_memory_moved_bytes_total", "counter", COUNT,
		"Memory that left the device, and that came back."),
	ACCOUNT(move_ns, "container_memory_move_seconds_total", "counter", SECONDS,
		"Time that memory took to leave the device, and to come back."),
	ACCOUNT(weight, "container_weight", "gauge", COUNT,
		"Sum of the weights of its best-effort processes."),
};

static void account_sample(struct page *p, size_t device, const struct field *f,
			   const struct gp_view_account *a)
{
	uint64_t number;

	memcpy(&number, (const char *)a + f->offset, sizeof(number));
	if (number == GP_WIRE_UNKNOWN)
		return;
	fprintf(p->out, "gpreempt_%s{device=\"%s\",namespace=", f->name, p->uuid[device]);
	quoted(p->out, a->namespace);
	fputs(",pod=", p->out);
	quoted(p->out, a->pod);
	fputs(",container=", p->out);
	quoted(p->out, a->container);
	fputs(",job=", p->out);
	quoted(p->out, a->job);
	fputc('}', p->out);
	value(p->out, number, f->unit);
}

static void accounts(struct page *p)
{
	size_t count[GP_WIRE_MAX_DEVICES] = { 0 };

	if (!p->m->ops->accounts)
		return;
	for (size_t d = 0; d < p->devices; d++)
		count[d] = p->m->ops->accounts(p->m->arg, d, p->account[d], ACCOUNTS_MAX);
	for (size_t i = 0; i < sizeof(account_fields) / sizeof(account_fields[0]); i++) {
		const struct field *f = &account_fields[i];

		family(p, f->name, f->type, f->help);
		for (size_t d = 0; d < p->devices; d++)
			for (size_t a = 0; a < count[d]; a++)
				account_sample(p, d, f, &p->account[d][a]);
	}
}

static uint64_t memory_of(const struct page *p, size_t device, uint32_t cls, size_t offset)
{
	uint64_t sum = 0, bytes;

	for (size_t i = 0; i < p->tenants; i++) {
		const struct gp_wire_tenant *t = &p->tenant[i];

		if (t->origin == GP_WIRE_BY_POOL || t->request.cls != cls ||
		    memcmp(t->uuid, p->device[device].uuid, sizeof(t->uuid)))
			continue;
		memcpy(&bytes, (const char *)t + offset, sizeof(bytes));
		sum += bytes;
	}
	return sum;
}

static void memory(struct page *p)
{
	static const struct {
		const char *name;
		size_t offset;
	} kind[] = {
		{ "movable", offsetof(struct gp_wire_tenant, memory.movable) },
		{ "fixed", offsetof(struct gp_wire_tenant, memory.fixed) },
		{ "out", offsetof(struct gp_wire_tenant, memory.out) },
	};

	family(p, "memory_bytes", "gauge",
	       "Memory of tenants: on the device and movable or fixed, or out on the host.");
	for (size_t i = 0; i < p->devices; i++)
		for (uint32_t cls = 0; cls < CLASSES; cls++)
			for (size_t k = 0; k < sizeof(kind) / sizeof(kind[0]); k++) {
				fprintf(p->out,
					"gpreempt_memory_bytes{device=\"%s\",class=\"%s\","
					"kind=\"%s\"}",
					p->uuid[i], class_name[cls], kind[k].name);
				value(p->out, memory_of(p, i, cls, kind[k].offset), COUNT);
			}
}

static void histogram_of(struct page *p, size_t device, const char *name, const char *cls,
			 const struct gp_hist *hist)
{
	uint64_t seen = 0;

	for (unsigned int i = 0; i < GP_WIRE_BUCKETS_MAX - 1; i++) {
		seen += hist->count[i];
		if (i % LE_STEP == 0)
			fprintf(p->out,
				"gpreempt_%s_bucket{device=\"%s\",class=\"%s\","
				"le=\"%.9g\"} %llu\n",
				name, p->uuid[device], cls, (double)gp_hist_bound_ns(i) / 1e9,
				(unsigned long long)seen);
	}
	fprintf(p->out, "gpreempt_%s_bucket{device=\"%s\",class=\"%s\",le=\"+Inf\"} %llu\n", name,
		p->uuid[device], cls, (unsigned long long)hist->total);
	fprintf(p->out, "gpreempt_%s_sum{device=\"%s\",class=\"%s\"}", name, p->uuid[device], cls);
	value(p->out, hist->sum_ns, SECONDS);
	fprintf(p->out, "gpreempt_%s_count{device=\"%s\",class=\"%s\"}", name, p->uuid[device],
		cls);
	value(p->out, hist->total, COUNT);
}

static void histogram(struct page *p, enum gp_wire_histogram kind)
{
	static const struct {
		const char *name, *cls, *help;
	} of[GP_WIRE_HISTS] = {
		[GP_WIRE_HIST_WAIT] = { "turn_wait_seconds", "be",
					"From having work to its turn." },
		[GP_WIRE_HIST_SWITCH] = { "lc_switch_seconds", "lc",
					  "From requesting the device to having it." },
		[GP_WIRE_HIST_HOLD] = { "hold_seconds", "lc", "Length of holds." },
		[GP_WIRE_HIST_SUSPENDED] = { "suspended_seconds", "be", "Length of suspensions." },
		[GP_WIRE_HIST_SEGMENT] = { "segment_seconds", "lc", "Length of segments." },
	};
	const struct gp_hist *hist;

	family(p, of[kind].name, "histogram", of[kind].help);
	for (size_t i = 0; i < p->devices; i++) {
		hist = p->m->ops->histogram(p->m->arg, i, kind);
		if (hist)
			histogram_of(p, i, of[kind].name, of[kind].cls, hist);
	}
}

static void write_page(struct page *p)
{
	family(p, "build_info", "gauge", "Version of gpreemptd.");
	fputs("gpreempt_build_info{version=\"" GP_VERSION "\"} 1\n", p->out);
	device_info(p);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		device_field(p, &fields[i]);
	tenants(p, "tenants", 0, "Tenants: a process on a device.");
	tenants(p, "tenants_suspended", GP_WIRE_SUSPENDED, "Suspended tenants.");
	tenants(p, "tenants_banned", GP_WIRE_BANNED, "Tenants suspended until they end.");
	clients(p);
	used(p);
	memory(p);
	accounts(p);
	for (int kind = 0; kind < GP_WIRE_HISTS; kind++)
		histogram(p, (enum gp_wire_histogram)kind);
}

/* 0; the caller frees *@text. */
static int make_page(const struct gp_metrics *m, char **text, size_t *len)
{
	struct page *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (!p)
		return -ENOMEM;
	p->m = m;
	p->tenant = calloc(TENANTS_MAX, sizeof(*p->tenant));
	*text = NULL;
	p->account = calloc(GP_WIRE_MAX_DEVICES, sizeof(*p->account));
	p->out = p->tenant && p->account ? open_memstream(text, len) : NULL;
	if (!p->out)
		goto out;
	p->devices = m->ops->devices(m->arg, p->device, GP_WIRE_MAX_DEVICES);
	p->tenants = m->ops->tenants(m->arg, p->tenant, TENANTS_MAX);
	for (size_t i = 0; i < p->devices; i++)
		gp_uuid_format(p->device[i].uuid, p->uuid[i], sizeof(p->uuid[i]));
	write_page(p);
	err = ferror(p->out) ? -ENOMEM : 0;
	if (fclose(p->out))
		err = -ENOMEM;
	if (err)
		free(*text);
out:
	free(p->account);
	free(p->tenant);
	free(p);
	return err;
}

/* ---- HTTP ---------------------------------------------------------------------- */

/* NULL: out of memory. @text is the response's, if @mode is so, also on failure. */
static struct MHD_Response *response_of(char *text, size_t len, enum MHD_ResponseMemoryMode mode,
					const char *type)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(len, text, mode);

	if (!response) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free(text);
		return NULL;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	return response;
}

static enum MHD_Result answer_short(struct MHD_Connection *connection, unsigned int status,
				    const char *text)
{
	struct MHD_Response *response =
		response_of((char *)text, strlen(text), MHD_RESPMEM_PERSISTENT, "text/plain");
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static void forget_text(struct gp_metrics *m)
{
	if (m->text)
		MHD_destroy_response(m->text);
	m->text = NULL;
}

/* NULL: out of memory. */
static struct MHD_Response *present_text(struct gp_metrics *m)
{
	uint64_t now_ns = gp_loop_now_ns();
	char *text;
	size_t len;

	if (m->text && now_ns - m->text_ns < TEXT_NS)
		return m->text;
	forget_text(m);
	if (!make_page(m, &text, &len))
		m->text = response_of(text, len, MHD_RESPMEM_MUST_FREE, TYPE);
	m->text_ns = now_ns;
	return m->text;
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_len, void **state)
{
	static int seen;
	struct MHD_Response *text;

	/* The first call of a request must not answer yet: its upload comes first. */
	if (!*state) {
		*state = &seen;
		return MHD_YES;
	}
	if (*upload_len) {
		*upload_len = 0;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return answer_short(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (strcmp(url, "/metrics"))
		return answer_short(connection, MHD_HTTP_NOT_FOUND, "see /metrics\n");
	text = present_text(arg);
	if (!text)
		return answer_short(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	return MHD_queue_response(connection, MHD_HTTP_OK, text);
}

/* ---- the listener ------------------------------------------------------------------ */

/* Removes a socket without a listener. */
static void remove_stale(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd;

	if (lstat(addr->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) && errno == ECONNREFUSED)
		unlink(addr->sun_path);
	close(fd);
}

/* fd or negative errno. */
static int listen_at(const struct sockaddr *addr, socklen_t len)
{
	const int one = 1;
	int err, fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	/* Connections of a former daemon may be left. */
	if (addr->sa_family != AF_UNIX)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, addr, len) || listen(fd, BACKLOG)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int listen_unix(const struct gp_config_metrics *config, char *where, size_t len)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	memcpy(addr.sun_path, config->path, sizeof(addr.sun_path));
	snprintf(where, len, "%s", config->path);
	remove_stale(&addr);
	fd = listen_at((const struct sockaddr *)&addr, sizeof(addr));
	/* Any user may ask the daemon for the same data. */
	if (fd >= 0)
		chmod(config->path, 0666);
	return fd;
}

static int listen_ipv4(const struct gp_config_metrics *config, char *where, size_t len)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(config->port) };

	memcpy(&addr.sin_addr, config->ipv4, sizeof(addr.sin_addr));
	snprintf(where, len, "%u.%u.%u.%u:%u", config->ipv4[0], config->ipv4[1], config->ipv4[2],
		 config->ipv4[3], config->port);
	return listen_at((const struct sockaddr *)&addr, sizeof(addr));
}

static int listen_ipv6(const struct gp_config_metrics *config, char *where, size_t len)
{
	struct sockaddr_in6 addr = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(config->port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};

	snprintf(where, len, "[::1]:%u", config->port);
	return listen_at((const struct sockaddr *)&addr, sizeof(addr));
}

/* fd or negative errno; @where as text. */
static int open_listener(const struct gp_config_metrics *config, char *where, size_t len)
{
	switch (config->kind) {
	case GP_CONFIG_METRICS_UNIX:
		return listen_unix(config, where, len);
	case GP_CONFIG_METRICS_IPV4:
		return listen_ipv4(config, where, len);
	case GP_CONFIG_METRICS_IPV6:
		return listen_ipv6(config, where, len);
	default:
		return -EINVAL;
	}
}

/* ---- start and end ----------------------------------------------------------------- */

int gp_metrics_create(struct gp_loop *loop, const struct gp_config_metrics *config,
		      const struct gp_view_ops *ops, void *arg, struct gp_metrics **metrics,
		      char *why, size_t len)
{
	char where[sizeof(config->path)] = "";
	struct gp_metrics *m;
	int err;

	if (config->kind == GP_CONFIG_METRICS_OFF) {
		*metrics = NULL;
		return 0;
	}
	m = calloc(1, sizeof(*m));
	if (!m) {
		snprintf(why, len, "out of memory");
		return -ENOMEM;
	}
	m->ops = ops;
	m->arg = arg;
	err = open_listener(config, where, sizeof(where));
	if (err >= 0) {
		if (config->kind == GP_CONFIG_METRICS_UNIX)
			memcpy(m->path, where, sizeof(m->path));
		err = gp_http_create(loop, err, answer, m, &m->http);
		if (err && *m->path)
			unlink(m->path);
	}
	if (err) {
		snprintf(why, len, "metrics_listen: %s: %s", where, strerror(-err));
		free(m);
		return err;
	}
	*metrics = m;
	return 0;
}

void gp_metrics_destroy(struct gp_metrics *metrics)
{
	if (!metrics)
		return;
	gp_http_destroy(metrics->http);
	forget_text(metrics);
	if (*metrics->path)
		unlink(metrics->path);
	free(metrics);
}
