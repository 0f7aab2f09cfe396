/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.h - the calls by which a program frees its device memory itself and takes it again: HTTP
 * requests to a port of this machine. Text is read strictly, as in duration.h.
 */
#ifndef GP_RUNTIME_HOOK_H
#define GP_RUNTIME_HOOK_H

#include <stddef.h>
#include <stdint.h>

#define GP_HOOK_LIMIT_NS 10000000000ull /* if none is given */
#define GP_HOOK_LIMIT_MAX_NS 60000000000ull

/* Longest texts, their NUL included. */
#define GP_HOOK_URL_LEN 160
#define GP_HOOK_TEXT_LEN 400

/**
 * struct gp_hook_url
 * @port: of 127.0.0.1
 * @path: from its "/" on
 */
struct gp_hook_url {
	uint16_t port;
	char path[GP_HOOK_URL_LEN];
};

/**
 * struct gp_hook
 * @sleep: the program frees memory; @wake: it takes the memory again
 * @limit_ns: for each call
 */
struct gp_hook {
	struct gp_hook_url sleep, wake;
	uint64_t limit_ns;
};

/* Exported to the preload: see the PRIVATE node of libgpreempt.map. */
#pragma GCC visibility push(default)

/**
 * "http://127.0.0.1:8000/sleep", or "http://localhost:8000/sleep". The path has printable
 * characters without blanks and commas. 0 or -EINVAL, and @url is as it was.
 */
int gp_hook_parse_url(const char *text, struct gp_hook_url *url);
/** "SLEEP,WAKE" or "SLEEP,WAKE,LIMIT": two URLs, and a time up to 60 s. 0 or -EINVAL. */
int gp_hook_parse(const char *text, struct gp_hook *hook);
/** The begin of an HTTP answer. 0: a status of 2xx; -EREMOTEIO: another; -EPROTO: no answer. */
int gp_hook_answer(const char *text, size_t len);

#pragma GCC visibility pop

#endif
