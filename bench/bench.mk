# SPDX-License-Identifier: Apache-2.0
# demo, bench, check-gpu, and the PTX of the bench's kernels (bench-ptx needs a CUDA
# toolkit; nothing else does, its output is in the tree).
#
# apps/	programs that a run starts: clients, peers' clients, probes
# cmd/		gpreempt-bench: one file per verb or suite
# data/		plans, peers and workloads, which the bench reads
# gpu/		kernels and their reference results; CUDA and HIP behind one table
# model/	the bench in virtual time, and queueing theory
# plan/		formats of plans, workloads and results; arrivals
# record/	Python: records a model's kernels on a card
# report/	statistics, result folders, and the report's page (Python)
# run/		starts processes on a device and collects their reports

NVCC ?= /usr/local/cuda/bin/nvcc

# PTX 7.0, which drivers of the oldest supported toolkit read; nothing newer is used.
PTX_SOURCES := bench/gpu/kernels_ptx.c bench/gpu/live_ptx.c
.PHONY: bench-ptx $(PTX_SOURCES:%=make-%)
bench-ptx: $(PTX_SOURCES:%=make-%)
$(PTX_SOURCES:%=make-%): make-bench/gpu/%_ptx.c:
	$(Q)mkdir -p $(O)
	$(Q)$(NVCC) -ptx -arch=compute_75 -O3 -o $(O)/$*.ptx bench/gpu/$*.cu
	$(Q){ printf '%s\n' '// SPDX-License-Identifier: Apache-2.0' \
		'/* Made of $*.cu by "make bench-ptx". */' \
		'#include "bench/gpu/kernels.h"' '' \
		'const char gp_$*_ptx[] ='; \
	  sed -e 's/[[:space:]]*\/\/.*//' -e '/^[[:space:]]*$$/d' \
		-e 's/^\.version .*/.version 7.0/' -e 's/\\/\\\\/g' -e 's/"/\\"/g' \
		-e 's/\t/ /g' -e 's/^\(.*\)$$/"\1\\n"/' $(O)/$*.ptx; \
	  echo ';'; } > bench/gpu/$*_ptx.c

# The cards that docs/amd.md names, as far as Debian's compiler knows them; the rig's GPU is a gfx900.
HIP_ARCHS ?= gfx900 gfx906 gfx908 gfx90a
$(O)/lib/gpreempt/bench/kernels.hsaco: $(addprefix bench/gpu/,kernels.cu live.cu kernels.h bodies.h)
	$(call msg,HIPCC,$@)mkdir -p $(@D)
	$(Q)HIP_PLATFORM=amd $(HIPCC) --genco $(addprefix --offload-arch=,$(HIP_ARCHS)) \
		-x hip -O3 -o $@ $<

# These ask the backends.
$(O)/bench/ctxlog $(O)/bench/slicewatch $(O)/bench/poke: $(O)/bench/%: \
		$(O)/obj/bench/apps/%.o $(call obj,$(APP_SRCS)) $(CORE_A)
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $(filter %.o,$^) \
		-Wl,--whole-archive $(CORE_A) -Wl,--no-whole-archive -o $@ -ldl -lm

# The suite quick on the model of an H200, and its page: some seconds, no GPU.
BENCH_DIR ?= $(O)/bench-quick
.PHONY: bench
bench: need-all $(BENCH) $(REPORT) $(BENCH_DATA)
	$(Q)rm -rf $(BENCH_DIR)
	$(Q)$(BENCH) run quick --runs=5 --dir=$(BENCH_DIR)
	$(Q)$(BENCH) report $(BENCH_DIR)

# The same for AMD: HIP programs over the real KFD, in the rig. It needs the packages of kfd-check.
BENCH_RIG_DIR ?= $(O)/bench-rig
.PHONY: bench-rig
bench-rig: need-python all
	$(if $(HIP_KERNELS),,$(error no $(HIPCC): apt-get install hipcc))
	$(Q)rm -rf $(BENCH_RIG_DIR)
	$(Q)$(RIG) run $(rig_opts) --suite bench --keep $(abspath $(BENCH_RIG_DIR)) --tally $(TALLY)
	$(Q)$(BENCH) report $(BENCH_RIG_DIR)

# SUITE=latency|exact|kill|safety|many|share|edf|rules|controls|copies|devices|leave; ROWS: which rows (default
# all); `make check-gpu SUITE=latency ROWS=--list` lists all rows.
SUITE ?= latency
.PHONY: check-gpu demo
check-gpu: need-python all
	$(Q)$(PYTHON) tests/gpu/suite.py $(SUITE) --build $(O) $(ROWS)

# What bench/demo.py runs, and no more.
DEMO_PROGS := $(LIB) $(PRELOAD) $(FACE) $(CUPTI) $(SERVER) $(CLI) $(addprefix $(O)/bench/,lc be ctxlog)
demo: need-demo $(DEMO_PROGS)
	$(Q)$(PYTHON) bench/demo.py --build $(O) $(DEMO)
