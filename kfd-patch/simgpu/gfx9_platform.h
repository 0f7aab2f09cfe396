/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * gfx9_platform.h - what the interpreter needs of the place it runs in: a
 * kernel module, or user space (unit tests, fuzzing).
 */
#ifndef GFX9_PLATFORM_H
#define GFX9_PLATFORM_H

#ifdef __KERNEL__

#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>

#else

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#endif
#endif
