// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/ends.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "bench/gpu/clock.h"

/* Of messages, 65536: as many ends as a listener may be behind. */
#define FIFO_BYTES (1 << 20)
#define HEARD_NS 100000
#define HEARD_TRIES 100

/* Less than PIPE_BUF: whole or not at all, beside other writers. */
struct message {
	uint64_t who, end_ns;
};

void gp_ends_path(const char *prefix, unsigned int who, char *path, size_t len)
{
	snprintf(path, len, "%s.%u", prefix, who);
}

/* Both ends are open in each process: nobody waits for another one to come, or to go. */
int gp_ends_teller(const char *path)
{
	const int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int gp_ends_listen(struct gp_ends *ends, const char *path, uint64_t after)
{
	const int fd = gp_ends_teller(path);

	if (fd < 0)
		return fd;
	/* Less is enough for a reader that keeps up. */
	(void)fcntl(fd, F_SETPIPE_SZ, FIFO_BYTES);
	*ends = (struct gp_ends){ .fd = fd, .after = after };
	return 0;
}

/*
 * On a CPU until there is one: a virtual machine takes up to 200 us to wake, which would be
 * the request's. Virtual time goes on only while all sleep.
 */
static struct message hear(const struct gp_ends *ends)
{
	struct message m;

	while (read(ends->fd, &m, sizeof(m)) != sizeof(m)) {
		if (gp_clock_is_virtual())
			gp_clock_wait_readable(ends->fd);
		else
			sched_yield();
	}
	return m;
}

uint64_t gp_ends_next(struct gp_ends *ends)
{
	uint64_t at_ns;

	/* Of one that is over an end may still be seen. */
	while (ends->seen != ends->after) {
		struct message m;

		if (ends->over & ~ends->seen)
			return GP_ENDS_NO_MORE;
		m = hear(ends);
		if (m.end_ns == GP_ENDS_NO_MORE) {
			ends->over |= 1ull << m.who;
			continue;
		}
		ends->seen |= 1ull << m.who;
		if (m.end_ns > ends->last_ns)
			ends->last_ns = m.end_ns;
	}
	at_ns = ends->last_ns;
	ends->seen = 0;
	ends->last_ns = 0;
	return at_ns;
}

/*
 * Virtual time goes on as soon as nobody runs. A thread that sleeps at its FIFO does not count as
 * running until it is up. A busy thread reads it later; do not wait long for it.
 */
static void let_it_be_heard(int fd)
{
	const struct timespec moment = { .tv_nsec = HEARD_NS };
	int bytes;

	for (int i = 0; i < HEARD_TRIES && !ioctl(fd, FIONREAD, &bytes) && bytes; i++)
		nanosleep(&moment, NULL);
	/* From having read it to its next call. */
	nanosleep(&moment, NULL);
}

int gp_ends_tell(int fd, unsigned int who, uint64_t end_ns)
{
	const struct message m = { who, end_ns };

	if (write(fd, &m, sizeof(m)) != sizeof(m))
		return -errno;
	if (gp_clock_is_virtual())
		let_it_be_heard(fd);
	return 0;
}
