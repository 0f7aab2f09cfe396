// SPDX-License-Identifier: Apache-2.0
/* policies.c - the tables of policies. A row makes a policy a word of gpreempt.yaml. */
#include "sched/sched.h"

const struct gp_be_policy *const gp_be_policies[] = {
	&gp_policy_fair,
	&gp_policy_credit,
	&gp_policy_rr,
	NULL,
};

const struct gp_lc_policy *const gp_lc_policies[] = {
	&gp_policy_level,
	&gp_policy_sjf,
	&gp_policy_edf,
	NULL,
};
