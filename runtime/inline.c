// SPDX-License-Identifier: Apache-2.0
/* inline.c - the executor without a thread. */
#include "runtime/runtime.h"

static void start(struct gp_executor *ex, struct gp_call *call)
{
	gp_call_run(call);
	gp_call_done(call);
}

struct gp_executor gp_executor_inline = { .start = start };
