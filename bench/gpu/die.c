// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/die.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/gpu/clock.h"

static uint64_t when_ns;
static int with;

static void *die(void *arg)
{
	gp_clock_sleep_until(when_ns);
	dprintf(STDOUT_FILENO, "dying at_ns=%llu\n", (unsigned long long)gp_clock_now_ns());
	kill(getpid(), with);
	return NULL;
}

void gp_bench_die_at(uint64_t at_ns, int sig)
{
	pthread_t thread;
	int error;

	when_ns = at_ns;
	with = sig;
	error = pthread_create(&thread, NULL, die, NULL);
	if (error) {
		fprintf(stderr, "%s: thread: %s\n", program_invocation_short_name, strerror(error));
		exit(1);
	}
	pthread_detach(thread);
}
