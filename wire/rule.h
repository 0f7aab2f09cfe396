/* SPDX-License-Identifier: Apache-2.0 */
/* rule.h - a process asks gpreemptd for its rule. */
#ifndef GP_WIRE_RULE_H
#define GP_WIRE_RULE_H

#include "gpreempt/class.h"
#include "wire/wire.h"

#pragma GCC visibility push(default) /* also for the preload */

/**
 * The rule for this process with class @request; class none: whatever it gets. Without an answer
 * @ruled has no limits. @refusal: NULL, or for the cause of -EPERM.
 * 0; -EPERM: it may not have that class, and @ruled is that of class none; negative errno.
 */
int gp_wire_ask_rule(const struct gp_class_request *request, struct gp_wire_ruled *ruled,
		     char refusal[GP_WIRE_TEXT_LEN], int timeout_ms);

#pragma GCC visibility pop

#endif
