# SPDX-License-Identifier: Apache-2.0
# `make help` lists the targets. O=DIR builds out of tree, V=1 shows commands.

VERSION   := 0.1.0
SOVERSION := 0

O         ?= build
prefix    ?= $(or $(PREFIX),/usr/local)
bindir    ?= $(prefix)/bin
sbindir   ?= $(prefix)/sbin
libdir    ?= $(prefix)/lib
libexecdir ?= $(prefix)/libexec
includedir ?= $(prefix)/include
mandir    ?= $(prefix)/share/man
docdir    ?= $(prefix)/share/doc/gpreempt
exampledir ?= $(docdir)
unitdir   ?= $(prefix)/lib/systemd/system
# gpreemptd reads its configuration here: GP_CONFIG_PATH of daemon/config/config.h.
sysconfdir := /etc
pkglibdir := $(libdir)/gpreempt
# From a program to the libraries, wherever the whole installation was moved to.
libdir_from_bin := $(patsubst $(prefix)/%,../%,$(libdir))

PKG_CONFIG ?= pkg-config
PYTHON    ?= python3
CCACHE    ?= $(if $(shell command -v ccache),ccache)
ifeq ($(origin CC),default)
CC        := $(CCACHE) cc
endif
ifeq ($(origin CXX),default)
CXX       := $(CCACHE) c++
endif
# Sources and -I are relative: a clone in another folder has the same objects.
export CCACHE_NOHASHDIR := 1
CFLAGS    ?= -O2 -g

include config.mk

ifeq ($(V),1)
Q :=
msg =
else
Q := @
msg = @printf '  %-8s %s\n' '$(1)' '$(2)';
endif

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wformat=2 -Wundef -Wno-unused-parameter
ifeq ($(CI),true)
WARN += -Werror
endif
gp_CPPFLAGS := -I. -Iinclude -D_GNU_SOURCE -DGP_VERSION='"$(VERSION)"' \
	-DGP_PKGLIBDIR='"$(pkglibdir)"' -DGP_LIBDIR='"$(libdir)"' -DGP_SBINDIR='"$(sbindir)"' \
	-DGP_LIBDIR_FROM_BIN='"$(libdir_from_bin)"'
gp_CFLAGS := -std=gnu11 -fPIC -fvisibility=hidden -pthread $(WARN)
gp_LDFLAGS := -pthread -Wl,-z,relro,-z,now
ifneq ($(SAN),)
gp_CFLAGS += -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined
gp_LDFLAGS += -fsanitize=$(SAN)
# gcc warns about each fence, which TSan does not see. Our fences order memory
# for the GPU, not between threads.
gp_CFLAGS += $(if $(findstring thread,$(SAN)),-Wno-tsan)
else
gp_CFLAGS += -fstack-protector-strong
gp_CPPFLAGS += $(if $(findstring -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
gp_LDFLAGS += -Wl,-z,defs
endif

# ---- sources of each product -------------------------------------------------
HSAQ_SRCS    := $(filter-out libhsaq/criu.c libhsaq/hal.c libhsaq/track.c,$(wildcard libhsaq/*.c))
LIB_SRCS     := $(wildcard sched/*.c hal/*.c wire/*.c nvidia-backend/*.c libhsaq/*.c \
	runtime/*.c client/*.c)
LAYER_SRCS   := $(wildcard preload/*.c)
STUB_SRCS    := $(wildcard preload/stub/*.c)
MODEL_SRCS   := $(wildcard softgpu/*.c)
SERVER_SRCS  := $(wildcard softgpu/server/*.c) bench/gpu/reference.c
FACE_SRCS    := $(filter-out softgpu/cuda/cupti.c,$(wildcard softgpu/cuda/*.c))
CLI_SRCS     := $(wildcard cli/*.c)
YAML_SRCS    := $(wildcard yaml/*.c)
DAEMON_SRCS  := $(filter-out daemon/main.c,$(wildcard daemon/*.c daemon/*/*.c)) $(YAML_SRCS)
# Each program of bench/apps is linked with these.
APP_SRCS     := $(addprefix bench/gpu/,clock.c cuda.c die.c gpreempt_dl.c hip.c kernels_ptx.c live_ptx.c opts.c \
	reference.c roundtrip.c shape.c work.c) $(addprefix bench/plan/,samples.c tokens.c)
BENCH_SRCS   := $(wildcard $(addprefix bench/,gpu/*.c model/*.c plan/*.c report/*.c run/*.c)) $(YAML_SRCS)
BENCH_PROGS  := $(patsubst bench/apps/%.c,$(O)/bench/%,$(wildcard bench/apps/*.c))
# The HIP stand-in needs HIP's headers (libamdhip64-dev) and nothing else of ROCm.
HIP_HEADER   := $(wildcard /usr/include/hip/hip_runtime_api.h)
HIPCC        ?= hipcc
HIP_KERNELS  := $(if $(shell command -v $(HIPCC)),$(O)/lib/gpreempt/bench/kernels.hsaco)
EXAMPLES     := $(patsubst examples/%.c,$(O)/examples/%,$(wildcard examples/*.c)) \
	$(if $(HIP_HEADER),$(O)/examples/hint-hip)
TEST_COMMON  := $(wildcard tests/common/*.c)
TEST_PROGS   := $(patsubst tests/%.c,$(O)/tests/%,$(wildcard tests/*/test_*.c))
FUZZ_NAMES   := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
REPLAYS      := $(patsubst %,$(O)/fuzz/replay_%,$(FUZZ_NAMES))

obj = $(patsubst %.c,$(O)/obj/%.o,$(1))

LIB      := $(O)/lib/libgpreempt.so.$(SOVERSION)
PRELOAD  := $(O)/lib/libgpreempt-preload.so
LAYER    := $(O)/lib/libgpreempt-layer.so
FACE     := $(O)/lib/gpreempt/softgpu/libcuda.so.1
CUPTI    := $(O)/lib/gpreempt/softgpu/libcupti.so.13
SERVER   := $(O)/lib/gpreempt/gpreempt-softgpud
CLI      := $(O)/bin/gpreempt
DAEMON   := $(O)/bin/gpreemptd
HSAQ     := $(O)/lib/libhsaq.so.$(SOVERSION)
HSAQ_CMD := $(O)/bin/hsaq
BENCH    := $(O)/bin/gpreempt-bench
# Python programs with their data, where gpreempt-bench looks for them, built or installed.
REPORT   := $(patsubst bench/report/%,$(O)/lib/gpreempt/bench/report/%, \
	$(wildcard bench/report/*.py bench/report/*.css))
BENCH_DATA := $(patsubst bench/%,$(O)/lib/gpreempt/bench/%,$(filter-out %/rig,$(wildcard bench/data/peers/*)) \
	$(wildcard bench/apps/app.py bench/apps/client.py bench/record/models.py \
	bench/data/workloads/*.json bench/data/plans/NOTICE bench/data/plans/*/what bench/data/plans/*/peers bench/data/plans/*/*.json bench/data/plans/*/*/*.json))
CORE_A   := $(O)/lib/libgpreempt-core.a
MODEL_A  := $(O)/lib/libgpreempt-model.a
BENCH_A  := $(O)/lib/libgpreempt-bench.a
WORK_A   := $(O)/lib/libgpreempt-work.a
YAML_LIBS := -lyaml
DAEMON_LIBS := $(YAML_LIBS) -lmicrohttpd -ljansson

PRODUCTS := $(LIB) $(O)/lib/libgpreempt.so $(PRELOAD) $(LAYER) $(FACE) $(CUPTI) $(SERVER) $(CLI) $(DAEMON) \
	$(HSAQ) $(O)/lib/libhsaq.so $(HSAQ_CMD) \
	$(BENCH) $(REPORT) $(BENCH_DATA) $(BENCH_PROGS) $(HIP_KERNELS) $(EXAMPLES)

.DEFAULT_GOAL := all
# Objects that only a test needs are kept, too.
.SECONDARY:
.PHONY: all
all: $(PRODUCTS)

$(O)/obj/%.o: %.c | need-$(goal_set)
	$(call msg,CC,$<)mkdir -p $(@D)
	$(Q)$(CC) $(gp_CPPFLAGS) $(CPPFLAGS) $(gp_CFLAGS) $(CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c $< -o $@

# Another prefix= or version rebuilds the files that contain it.
FOLDERS := $(O)/folders
$(FOLDERS): FORCE
	$(Q)mkdir -p $(@D); echo '$(prefix) $(libdir) $(includedir) $(sbindir) $(VERSION)' >$@.now; \
		cmp -s $@.now $@ || cp $@.now $@; rm $@.now
.PHONY: FORCE
$(call obj,$(shell grep -lE 'GP_((PKG)?LIBDIR|VERSION)' */*.c */*/*.c)): $(FOLDERS)

$(CORE_A): $(call obj,$(LIB_SRCS))
$(MODEL_A): $(call obj,$(MODEL_SRCS))
$(BENCH_A): $(call obj,$(BENCH_SRCS))
# What be and client need of it. The demo builds be, and lacks the packages for YAML and compression.
$(WORK_A): $(call obj,$(wildcard bench/gpu/*.c bench/plan/*.c))
$(CORE_A) $(MODEL_A) $(BENCH_A) $(WORK_A):
	$(call msg,AR,$@)mkdir -p $(@D) && rm -f $@
	$(Q)$(AR) rcs $@ $^

$(LIB): $(call obj,$(LIB_SRCS)) client/libgpreempt.map
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) -shared $(gp_LDFLAGS) $(LDFLAGS) -Wl,-soname,$(@F) \
		-Wl,--version-script=client/libgpreempt.map \
		$(filter %.o,$^) -o $@ -ldl
$(O)/lib/libgpreempt.so: $(LIB)
$(O)/lib/libhsaq.so: $(HSAQ)
$(O)/lib/libgpreempt.so $(O)/lib/libhsaq.so:
	$(Q)ln -sf $(<F) $@

$(HSAQ): $(call obj,$(HSAQ_SRCS)) libhsaq/libhsaq.map
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) -shared $(gp_LDFLAGS) $(LDFLAGS) -Wl,-soname,$(@F) \
		-Wl,--version-script=libhsaq/libhsaq.map \
		$(filter %.o,$^) -o $@

$(HSAQ_CMD): $(call obj,$(wildcard libhsaq/cmd/*.c) cli/parse.c runtime/duration.c cli/text.c) $(HSAQ) $(O)/lib/libhsaq.so
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $(filter %.o,$^) -L$(O)/lib -lhsaq \
		-Wl,-rpath,'$$ORIGIN/../lib' -o $@ -ldl

# The stub comes into every program, with any C library: it has no libraries, and so no symbol
# versions. It has no sanitizer either, because its program may have none, and no stack protector.
stub_flags = $(filter-out --coverage -fprofile% -fsanitize% -fstack-protector% -D_FORTIFY_SOURCE%,$(1))
$(call obj,$(STUB_SRCS)): gp_CFLAGS := -std=gnu11 -fPIC -fvisibility=hidden $(WARN) -ffreestanding \
	-fno-builtin -fno-stack-protector $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),-mgeneral-regs-only)
$(call obj,$(STUB_SRCS)): gp_CPPFLAGS := -I. -Iinclude -D_GNU_SOURCE -U_FORTIFY_SOURCE
$(call obj,$(STUB_SRCS)): private override CPPFLAGS := $(call stub_flags,$(CPPFLAGS))
$(call obj,$(STUB_SRCS)): private override CFLAGS := $(call stub_flags,$(CFLAGS)) -O2
# Without the layer beside it, the stub has no effect.
$(PRELOAD): $(call obj,$(STUB_SRCS)) preload/stub/stub.map | $(LAYER)
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) -shared -nostdlib -Wl,-z,defs,-z,relro,-z,now,-Bsymbolic,--hash-style=both \
		$(call stub_flags,$(LDFLAGS)) -Wl,-soname,$(@F) -Wl,--version-script=preload/stub/stub.map \
		$(filter %.o,$^) -o $@

$(LAYER): $(call obj,$(LAYER_SRCS)) $(LIB) preload/layer.map
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) -shared $(gp_LDFLAGS) $(LDFLAGS) -Wl,-soname,$(@F) \
		-Wl,--version-script=preload/layer.map -Wl,-rpath,'$$ORIGIN' \
		$(filter %.o,$^) $(LIB) -o $@ -ldl

$(FACE): $(call obj,$(FACE_SRCS)) softgpu/cuda/libcuda.map
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) -shared $(gp_LDFLAGS) $(LDFLAGS) -Wl,-soname,libcuda.so.1 \
		-Wl,--version-script=softgpu/cuda/libcuda.map \
		$(filter %.o,$^) -o $@ -ldl

# It belongs to the libcuda beside it, and is not loaded with another.
$(CUPTI): $(call obj,softgpu/cuda/cupti.c) $(FACE) softgpu/cuda/libcupti.map
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) -shared $(gp_LDFLAGS) $(LDFLAGS) -Wl,-soname,$(@F) \
		-Wl,--version-script=softgpu/cuda/libcupti.map -Wl,-rpath,'$$ORIGIN' \
		$(filter %.o,$^) $(FACE) -o $@

$(SERVER): $(call obj,$(SERVER_SRCS)) $(MODEL_A)
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $^ -o $@ -lm

$(CLI): $(call obj,$(CLI_SRCS)) $(CORE_A)
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $(filter %.o,$^) \
		-Wl,--whole-archive $(CORE_A) -Wl,--no-whole-archive -o $@ -ljansson -lncursesw -ldl -lm

$(BENCH): $(call obj,$(wildcard bench/cmd/*.c)) $(BENCH_A) $(MODEL_A) $(CORE_A)
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $^ -o $@ $(YAML_LIBS) -ljansson -lz -ldl -lm

$(O)/lib/gpreempt/bench/%: bench/%
	$(call msg,COPY,$@)mkdir -p $(@D)
	$(Q)cp $< $@

$(O)/bench/lc: $(call obj,bench/plan/arrivals.c bench/plan/random.c)
# The linker takes only the parts that they call.
$(O)/bench/client $(O)/bench/be: $(WORK_A) $(CORE_A)
$(O)/bench/client $(O)/bench/be: BENCH_LIBS := -ljansson
$(O)/bench/%: $(O)/obj/bench/apps/%.o $(call obj,$(APP_SRCS))
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $^ -o $@ $(BENCH_LIBS) -ldl -lm

$(DAEMON): $(call obj,daemon/main.c $(DAEMON_SRCS)) $(CORE_A)
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $(filter %.o,$^) \
		-Wl,--whole-archive $(CORE_A) -Wl,--no-whole-archive -o $@ $(DAEMON_LIBS) -ldl -lm

# Slurm's option --gpu-class. Slurm loads only a plugin that was built with its own headers.
SPANK := $(O)/slurm/gpreempt.so
$(SPANK): $(call obj,slurm/spank.c runtime/class.c runtime/duration.c)
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) -shared $(gp_LDFLAGS) $(LDFLAGS) -Wl,-z,undefs,-z,lazy $(filter %.o,$^) -o $@
.PHONY: slurm
slurm: $(SPANK)

# hint.c is compiled a second time, for HIP.
$(O)/obj/examples/hint-hip.o: examples/hint.c | need-$(goal_set)
	$(call msg,CC,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_CPPFLAGS) $(CPPFLAGS) $(gp_CFLAGS) $(CFLAGS) $(EXTRA_CFLAGS) \
		-DHINT_HIP -Wno-strict-prototypes -Wno-undef -MMD -MP -c $< -o $@
$(O)/examples/%: $(O)/obj/examples/%.o $(LIB) $(O)/lib/libgpreempt.so
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $< -L$(O)/lib -lgpreempt \
		-Wl,-rpath,'$$ORIGIN/../lib' -o $@ -ldl

$(O)/tests/%: $(O)/obj/tests/%.o $(call obj,$(TEST_COMMON)) $(CORE_A) $(MODEL_A)
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $(filter %.o,$^) \
		-Wl,--whole-archive $(CORE_A) $(MODEL_A) -Wl,--no-whole-archive \
		-o $@ -lcmocka -ljansson $(TEST_LIBS) -ldl -lm

-include $(shell find $(O)/obj -name '*.d' 2>/dev/null)

include bench/bench.mk
include abi/abi.mk
include tests/tests.mk
include kfd-patch/kfd.mk
include install.mk
