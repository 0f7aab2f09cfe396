// SPDX-License-Identifier: Apache-2.0
/*
 * trampolines.c - entries that continue elsewhere by a jump: dlsym, because the C library looks
 * at its caller's return address, and the driver's names, whatever their arguments.
 *
 * The slot of a name leads to the name's bind entry at first. That asks gp_stub_bind() and
 * keeps the registers of arguments. None of the driver's calls here has an argument in a
 * floating-point register.
 */
#include "preload/stub/stub.h"

#define TEXT(x) #x
#define LINE(x) x "\n\t"

#if defined(__x86_64__)

/* At entry the stack is 8 bytes off a multiple of 16. */
#define LOOKUP(name, helper)                                                                  \
	LINE(".globl " name)                                                                  \
	LINE(".type " name ", @function")                                                     \
	name ":\n\t" LINE("endbr64") LINE("push %rdi") LINE("push %rsi") LINE("push %rdx")    \
		LINE("call " helper) LINE("mov %rdx, %r11") LINE("pop %rdx") LINE("pop %rsi") \
			LINE("pop %rdi") LINE("test %r11, %r11") LINE("jz 1f")                \
				LINE("jmp *%r11") "1:\n\t" LINE("ret")                        \
					LINE(".size " name ", . - " name)

#define EXPORT(symbol, id)                                                                      \
	LINE(".globl " symbol)                                                                  \
	LINE(".type " symbol ", @function")                                                     \
	symbol ":\n\t" LINE("endbr64") LINE("jmp *gp_stub_slot + 8 * " id "(%rip)")             \
		LINE(".size " symbol ", . - " symbol) "gp_bind_" symbol ":\n\t" LINE("endbr64") \
			LINE("push $" id) LINE("jmp gp_bind")

#define BIND                                                                                       \
	"gp_bind:\n\t" LINE("push %rdi") LINE("push %rsi") LINE("push %rdx") LINE("push %rcx")     \
		LINE("push %r8") LINE("push %r9") LINE("mov 48(%rsp), %edi")                       \
			LINE("call gp_stub_bind") LINE("mov %rax, %r11") LINE("pop %r9")           \
				LINE("pop %r8") LINE("pop %rcx") LINE("pop %rdx") LINE("pop %rsi") \
					LINE("pop %rdi") LINE("add $8, %rsp") LINE("jmp *%r11")

#elif defined(__aarch64__)

#define LOOKUP(name, helper)                                                                    \
	LINE(".globl " name)                                                                    \
	LINE(".type " name ", %function")                                                       \
	name ":\n\t" LINE("hint #34") LINE("stp x29, x30, [sp, #-48]!") LINE("mov x29, sp")     \
		LINE("stp x0, x1, [sp, #16]") LINE("str x2, [sp, #32]") LINE("bl " helper)      \
			LINE("mov x16, x1") LINE("cbz x16, 1f") LINE("ldp x0, x1, [sp, #16]")   \
				LINE("ldr x2, [sp, #32]") LINE("ldp x29, x30, [sp], #48")       \
					LINE("br x16") "1:\n\t" LINE("ldp x29, x30, [sp], #48") \
						LINE("ret") LINE(".size " name ", . - " name)

#define EXPORT(symbol, id)                                                                  \
	LINE(".globl " symbol)                                                              \
	LINE(".type " symbol ", %function")                                                 \
	symbol ":\n\t" LINE("hint #34") LINE("adrp x16, gp_stub_slot + 8 * " id)            \
		LINE("ldr x16, [x16, #:lo12:gp_stub_slot + 8 * " id "]") LINE("br x16")     \
			LINE(".size " symbol ", . - " symbol) "gp_bind_" symbol             \
							      ":\n\t" LINE("hint #34")      \
								      LINE("mov w16, #" id) \
									      LINE("b gp_bind")

#define BIND                                                                                       \
	"gp_bind:\n\t" LINE("stp x29, x30, [sp, #-80]!") LINE("mov x29, sp")                       \
		LINE("stp x0, x1, [sp, #16]") LINE("stp x2, x3, [sp, #32]") LINE(                  \
			"stp x4, x5, [sp, #48]") LINE("stp x6, x7, [sp, #64]") LINE("mov w0, w16") \
			LINE("bl gp_stub_bind") LINE("mov x16, x0") LINE("ldp x0, x1, [sp, #16]")  \
				LINE("ldp x2, x3, [sp, #32]") LINE("ldp x4, x5, [sp, #48]")        \
					LINE("ldp x6, x7, [sp, #64]")                              \
						LINE("ldp x29, x30, [sp], #80") LINE("br x16")

#endif

/* The assembler counts the names as the compiler counts enum gp_call_id. */
#define GP_CALL(kind, name, symbol, ...)                                                         \
	GP_SEEN_##kind(LINE(".equ gp_id_" TEXT(symbol) ", gp_ids") LINE(".set gp_ids, gp_ids + " \
									"1"))
__asm__(".set gp_ids, 0\n\t"
#include "preload/driver_calls.def"
);

__asm__(".text\n\t.p2align 4\n\t" LOOKUP("dlsym", "gp_stub_dlsym")
		LOOKUP("dlvsym", "gp_stub_dlvsym") BIND
#define GP_CALL(kind, name, symbol, ...) GP_SEEN_##kind(EXPORT(TEXT(symbol), "gp_id_" TEXT(symbol)))
#include "preload/driver_calls.def"
);

/* Relocated by the linker: both have an address for each name. */
__asm__(".section .data.rel, \"aw\"\n\t.p2align 3\n\t"
	".globl gp_stub_slot\n\t.hidden gp_stub_slot\n"
	"gp_stub_slot:\n\t"
#define GP_CALL(kind, name, symbol, ...) GP_SEEN_##kind(LINE(".8byte gp_bind_" TEXT(symbol)))
#include "preload/driver_calls.def"
	".section .data.rel.ro, \"aw\"\n\t.p2align 3\n\t"
	".globl gp_stub_exported\n\t.hidden gp_stub_exported\n"
	"gp_stub_exported:\n\t"
#define GP_CALL(kind, name, symbol, ...) GP_SEEN_##kind(LINE(".8byte " TEXT(symbol)))
#include "preload/driver_calls.def"
	".text");
