/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_abi.h - the ABI of CUPTI's callbacks that the software GPU has (cupti_callbacks.h,
 * cupti_result.h): numbers, and the arguments of a callback on the driver API.
 */
#ifndef GP_CUPTI_ABI_H
#define GP_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

#define CUPTI_SUCCESS 0
#define CUPTI_ERROR_INVALID_PARAMETER 1
#define CUPTI_ERROR_MULTIPLE_SUBSCRIBERS 39

#define CUPTI_DOMAIN_DRIVER_API 1u
#define CUPTI_API_ENTER 0u
#define CUPTI_API_EXIT 1u

struct cupti_callback_data {
	uint32_t site;
	const char *function_name;
	const void *params; /* the call's arguments, in order */
	void *return_value;
	const char *symbol_name;
	void *context;
	uint32_t context_uid;
	uint64_t *correlation; /* kept from a call's entry to its exit */
	uint32_t correlation_id;
};
_Static_assert(sizeof(struct cupti_callback_data) == 72, "ABI");
_Static_assert(offsetof(struct cupti_callback_data, function_name) == 8, "ABI");
_Static_assert(offsetof(struct cupti_callback_data, params) == 16, "ABI");
_Static_assert(offsetof(struct cupti_callback_data, return_value) == 24, "ABI");
_Static_assert(offsetof(struct cupti_callback_data, symbol_name) == 32, "ABI");
_Static_assert(offsetof(struct cupti_callback_data, context) == 40, "ABI");
_Static_assert(offsetof(struct cupti_callback_data, context_uid) == 48, "ABI");
_Static_assert(offsetof(struct cupti_callback_data, correlation) == 56, "ABI");
_Static_assert(offsetof(struct cupti_callback_data, correlation_id) == 64, "ABI");

typedef void (*cupti_callback_fn)(void *user, uint32_t domain, uint32_t cbid,
				  const struct cupti_callback_data *data);

#endif
