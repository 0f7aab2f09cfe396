// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The kernel's FPU sections (Documentation/core-api/floating-point.rst), apart
 * from the files that are compiled to use the FPU, as they may not include the
 * header. User space may use its FPU at any time.
 */
#include "gfx9_internal.h"

#ifdef __KERNEL__

#include <linux/fpu.h>

void gfx9_fpu_begin(void)
{
	kernel_fpu_begin();
}

void gfx9_fpu_end(void)
{
	kernel_fpu_end();
}

#else

void gfx9_fpu_begin(void)
{
}

void gfx9_fpu_end(void)
{
}

#endif
