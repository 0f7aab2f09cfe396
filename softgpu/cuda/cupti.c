// SPDX-License-Identifier: Apache-2.0
/*
 * cupti.c - the software GPU's libcupti.so.13, over the libcuda.so.1 beside it:
 * callbacks on the driver API for one subscriber, and nothing else of CUPTI.
 */
#include <stdlib.h>

#include "softgpu/cuda/calls.h"

#pragma GCC visibility push(default)
int cuptiSubscribe(void **subscriber, cupti_callback_fn fn, void *user);
int cuptiUnsubscribe(void *subscriber);
int cuptiEnableCallback(uint32_t on, void *subscriber, uint32_t domain, uint32_t cbid);
int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name);
#pragma GCC visibility pop

static char only_subscriber; /* its address is the handle */

int cuptiSubscribe(void **subscriber, cupti_callback_fn fn, void *user)
{
	if (!subscriber || !fn)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (gp_soft_calls_watch(fn, user))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS;
	*subscriber = &only_subscriber;
	return CUPTI_SUCCESS;
}

int cuptiUnsubscribe(void *subscriber)
{
	if (subscriber != &only_subscriber)
		return CUPTI_ERROR_INVALID_PARAMETER;
	gp_soft_calls_unwatch();
	return CUPTI_SUCCESS;
}

int cuptiEnableCallback(uint32_t on, void *subscriber, uint32_t domain, uint32_t cbid)
{
	if (subscriber != &only_subscriber || domain != CUPTI_DOMAIN_DRIVER_API ||
	    gp_soft_calls_see(cbid, on))
		return CUPTI_ERROR_INVALID_PARAMETER;
	return CUPTI_SUCCESS;
}

int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
	const char *found = domain == CUPTI_DOMAIN_DRIVER_API ? gp_soft_calls_name(cbid) : NULL;

	if (!name || !found)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*name = found;
	return CUPTI_SUCCESS;
}
