// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/urgent.h"

#include <sched.h>
#include <string.h>

#include "daemon/loop/log.h"

/* The lowest priority above all others: no program that somebody made real-time is delayed. */
#define PRIORITY 1

void gp_urgent_set(pthread_t thread, bool urgent)
{
	const struct sched_param param = { .sched_priority = urgent ? PRIORITY : 0 };
	const int err = pthread_setschedparam(thread, urgent ? SCHED_RR : SCHED_OTHER, &param);

	if (err)
		gp_log(GP_LOG_DEBUG, "no real-time priority: %s", strerror(err));
}

bool gp_urgent_is(void)
{
	return sched_getscheduler(0) == SCHED_RR;
}
