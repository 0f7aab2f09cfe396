# SPDX-License-Identifier: Apache-2.0
# check-quick and check: for developers. ci-more: the rest. nightly: the longest tests.

e2e       = $(addprefix tests/e2e/test_,$(addsuffix .py,$(1)))
UNITS    := $(TEST_PROGS)
SOFTFACE := $(sort $(wildcard tests/softface/test_*.py))
# check-kills has more kills, and check-long the longest files.
E2E_LONG := $(call e2e,bench_peers failing_calls flood hostile memory_daemon memory_idle memory_turns on_demand pile_soft devices_soft pools_keep slurm)
E2E      := $(filter-out $(call e2e,kill_soft) $(E2E_LONG),$(sort $(wildcard tests/e2e/test_*.py tests/bench/test_*.py)))
# Tests of the checks themselves: they run no program of ours.
CHECKS   := $(if $(SAN),,$(sort $(wildcard tests/checks/test_*.py)))

# spin on the models of the core, and the programs that tie them to it.
MODELS   := $(sort $(wildcard tests/model/test_*.py))
MODEL_PROGS := $(O)/tests/model/replay

# With a sanitizer, check-asan runs files that parse or share memory, check-tsan files with
# threads. Their tests that judge times are skipped: these need a build without a sanitizer.
# WHOLE=1 runs all files and all tests.
E2E_ASAN := $(call e2e,cli_attach cli_hsaq cli_run conformance_soft daemon_views layer_soft \
	memory_together pytorch tenant_soft yield_soft)
E2E_TSAN := $(call e2e,callbacks_soft client_soft daemon_soft tenant_soft threads_soft yield_soft)
# Long runs of the pure core, the theory and the model.
UNITS_ASAN := $(filter-out $(addprefix $(O)/tests/,bench/test_theory sched/test_hour sched/test_many \
	sched/test_waiting sched/test_edf_admission softgpu/test_sim_sched_share),$(TEST_PROGS))
UNITS_TSAN := $(foreach d,client daemon runtime,$(filter $(O)/tests/$d/%,$(TEST_PROGS)))
# Programs that only other files run.
SAN_LEAVES = $(HIP_KERNELS) $(if $(WHOLE),,$(EXAMPLES))
# Tens of other projects' plans, and programs that end early: neither needs a sanitizer.
E2E_PLAIN := $(call e2e,bench_suites failing_calls)
# Single-threaded, its clients' tests run with test_bench_peers.py; a Python that loads our library.
E2E_NO_THREADS := $(call e2e,bench_cli python_soft)

# Least number of passed unit tests and replayed inputs.
UNIT_FLOOR ?= 1300
TALLY    ?= $(abspath $(O))/tally
# AGAIN=N, for machines that others use, too: up to N failed tests of a step have a second try.
RUN       = $(PYTHON) tests/run.py --build $(O) --tally $(TALLY) $(if $(AGAIN),--again $(AGAIN))

# Programs that end-to-end tests run.
THREADS  := $(O)/tests/softface/threads
TOOL     := $(O)/tests/softface/tool
CALLS    := $(O)/tests/softface/calls
SCOPES   := $(O)/tests/softface/scopes
HSAQ_FAKE := $(O)/tests/hsaq/hsaq_fake
CLI_FAKE  := $(O)/tests/hsaq/gpreempt_fake
SOAK_APP  := $(O)/tests/hsaq/soak_app
DAEMON_FAKE := $(O)/tests/daemon/gpreemptd_fake
FAIL_CALLS   := $(O)/tests/e2e/fail_calls.so
$(THREADS) $(TOOL): $(call obj,$(APP_SRCS))
# gpreempt.hpp, as a program of its users is compiled.
$(SCOPES): tests/softface/scopes.cpp $(wildcard include/gpreempt/*.h*) $(LIB) $(O)/lib/libgpreempt.so
	$(call msg,C++,$<)mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -pedantic -Wall -Wextra -Wshadow -Werror -Iinclude \
		$(filter -f%,$(gp_CFLAGS)) $(CFLAGS) $< -o $@ $(LDFLAGS) -L$(O)/lib -lgpreempt -ldl \
		-Wl,-rpath,'$$ORIGIN/../../lib'

# Under a sanitizer reports go to files, as the software GPU has no stderr. Python is not built
# with it, so the runtime goes first if Python loads our libraries, and before the stub.
# ThreadSanitizer's cannot, so threads.c plays Python's part. Only unit tests check for leaks:
# programs end with threads.
ifneq ($(SAN),)
REPORTS  := $(abspath $(O))/reports
san_name := $(if $(findstring address,$(SAN)),asan,tsan)
san_env   = $(if $(filter asan,$(san_name)),ASAN,TSAN)_OPTIONS=log_path=$(REPORTS)/$(san_name)$(SAN_MORE) \
	UBSAN_OPTIONS=log_path=$(REPORTS)/ubsan:print_stacktrace=1
SAN_MORE  = $(if $(filter asan,$(san_name)),:detect_leaks=0,:suppressions=$(abspath tests/tsan.supp))
san_first = LD_PRELOAD=$(shell $(CC) -print-file-name=lib$(san_name).so)
E2E_TIMEOUT ?= 900
ifneq ($(WHOLE),)
E2E      := $(filter-out $(E2E_PLAIN) $(if $(filter tsan,$(san_name)),$(E2E_NO_THREADS)),$(E2E)) \
	$(call e2e,kill_soft) $(E2E_LONG)
else
export GP_NO_TIMES := 1
E2E      := $(if $(filter tsan,$(san_name)),$(E2E_TSAN),$(E2E_ASAN))
ifeq ($(san_name),tsan)
UNITS    := $(UNITS_TSAN)
REPLAYS  :=
UNIT_FLOOR := 180
else
UNITS    := $(UNITS_ASAN)
UNIT_FLOOR := 1250
endif
endif
endif
E2E_TIMEOUT ?= 600

# Each end-to-end test has a software GPU of its own, and its figures are in that GPU's clock. A
# limit only ends a test that hangs. With a sanitizer two of them use two cores.
RUN_E2E   = $(RUN) --timeout $(E2E_TIMEOUT) $(if $(SAN),--jobs 2 --reports $(REPORTS))
.PHONY: check check-unit check-e2e check-asan check-tsan check-hostile check-kills check-long check-soft ci-more \
	nightly fuzz lint format model
check-unit: need-check need-lint $(UNITS) $(REPLAYS)
	$(Q)$(RUN) --timeout 400 --floor $(UNIT_FLOOR) $(UNITS) $(REPLAYS) $(CHECKS)
check-e2e: need-check $(filter-out $(if $(SAN),$(SAN_LEAVES)),$(PRODUCTS)) $(THREADS) $(TOOL) $(CALLS) $(SCOPES) \
		$(HSAQ_FAKE) $(CLI_FAKE) $(SOAK_APP) $(DAEMON_FAKE) $(if $(WHOLE),$(FAIL_CALLS)) $(O)/tests/conformance/test_conformance_nvidia
	$(if $(SAN),$(Q)rm -rf $(REPORTS))
	$(Q)$(san_env) $(if $(filter asan,$(san_name)),$(san_first)) $(RUN_E2E) $(E2E)
	$(if $(filter tsan,$(san_name)),,$(Q)$(san_env) $(san_first) $(RUN_E2E) $(SOFTFACE))

# One suite for every backend.
$(filter $(O)/tests/conformance/%,$(TEST_PROGS)): \
	$(call obj,tests/conformance/conformance.c tests/conformance/sim_rig.c)

# A fake KFD, if there is no real one.
$(O)/tests/conformance/test_conformance_amd_fake \
$(filter $(O)/tests/hsaq/%,$(TEST_PROGS)): $(call obj,tests/hsaq/fake_kfd.c)

# hsaq over it, for tests/e2e.
$(HSAQ_FAKE): $(call obj,tests/hsaq/fake_kfd.c cli/parse.c cli/text.c $(wildcard libhsaq/cmd/*.c))

# A program with a queue, for gpreempt doctor --soak.
$(SOAK_APP): $(call obj,tests/hsaq/hsaq_fake.c tests/hsaq/fake_kfd.c)

# gpreempt over it. It finds our libraries in ../lib.
$(CLI_FAKE): $(call obj,tests/hsaq/hsaq_fake.c tests/hsaq/fake_kfd.c $(CLI_SRCS)) $(CORE_A)
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)ln -sfn ../lib $(O)/tests/lib
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $(filter %.o,$^) -Wl,--whole-archive $(CORE_A) \
		-Wl,--no-whole-archive -o $@ -lcmocka -ljansson -lncursesw -ldl -lm

$(filter $(O)/tests/daemon/%,$(TEST_PROGS)): $(call obj,$(DAEMON_SRCS))
$(filter $(O)/tests/daemon/%,$(TEST_PROGS)): TEST_LIBS := $(DAEMON_LIBS)
$(O)/tests/client/test_daemon $(O)/tests/client/test_engine: $(call obj,tests/client/fake_hal.c)
# Counts the messages that a hold sends.
$(O)/tests/client/test_daemon: TEST_LIBS := -Wl,--wrap=send,--wrap=sendmsg
# One lets memory run out, the other changes files during a read.
$(O)/tests/daemon/test_config: TEST_LIBS += -Wl,--wrap=calloc,--wrap=strdup
$(O)/tests/daemon/test_quotas: TEST_LIBS += -Wl,--wrap=gp_enroll_read,--wrap=gp_enroll_has_files \
	-Wl,--wrap=gp_conn_lives,--wrap=gp_conn_say,--wrap=gp_conn_send
$(O)/tests/daemon/test_proc: TEST_LIBS += -Wl,--wrap=readlinkat
$(O)/tests/daemon/test_freezer: TEST_LIBS += -Wl,--wrap=gp_loop_now_ns
# Its connections seem to take time.
$(O)/tests/daemon/test_serve: TEST_LIBS += -Wl,--wrap=gp_loop_cpu_ns
# The kernel's process events may be withheld, or lost.
$(O)/tests/daemon/test_discover: TEST_LIBS += -Wl,--wrap=socket,--wrap=recvfrom

# gpreemptd with a daemon that decides nothing, for tests/e2e.
KEEP_SRCS := tests/daemon/fake_daemon.c daemon/main.c daemon/discover/proc.c $(YAML_SRCS) \
	$(wildcard $(addprefix daemon/,config/*.c loop/*.c pool/*.c receive/*.c supervise/*.c))
$(DAEMON_FAKE): $(call obj,$(KEEP_SRCS)) $(CORE_A)
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $(filter %.o,$^) \
		-Wl,--whole-archive $(CORE_A) -Wl,--no-whole-archive -o $@ $(DAEMON_LIBS) -ldl -lm

# WHOLE=1: larger models, and more events.
model: export GP_WHOLE := $(WHOLE)
model: need-model $(O)/tests/sched/test_explore $(MODEL_PROGS)
	$(Q)$(RUN) --timeout 1800 $(O)/tests/sched/test_explore $(MODELS)

# Lets one call of a program fail.
$(FAIL_CALLS): tests/e2e/fail_calls.c
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -Wall -Wextra -fPIC -shared $< -o $@ -ldl

# The rig's guest runs these.
kfd-series kfd-stock kfd-slow kfd-check-long kfd-shell: all $(O)/tests/conformance/test_conformance_kfd

# The newest header of the kernel: the driver's own, else the C library's.
KFD_IOCTL_H := $(lastword $(sort $(wildcard \
	/usr/src/linux-headers-6.12*-common/include/uapi/linux/kfd_ioctl.h)))
$(O)/obj/tests/hsaq/test_abi.o: EXTRA_CFLAGS += -Itests/hsaq/stub \
	$(if $(KFD_IOCTL_H),-DKFD_IOCTL_H='"$(KFD_IOCTL_H)"')

# With all of the bench; a test that defines a part of it itself is linked without that part.
$(filter $(O)/tests/bench/% $(O)/tests/softgpu/test_sim_sched%,$(TEST_PROGS)): $(BENCH_A)
$(filter $(O)/tests/bench/% $(O)/tests/softgpu/test_sim_sched%,$(TEST_PROGS)): \
	TEST_LIBS := $(BENCH_A) $(YAML_LIBS) -ljansson -lz
$(O)/tests/bench/test_models: $(call obj,bench/cmd/models.c bench/cmd/data.c bench/cmd/device.c)
$(O)/tests/softgpu/test_thread_state: $(call obj,softgpu/server/thread_state.c)
$(O)/tests/bench/test_line: $(call obj,bench/cmd/line.c)
# It stands for the library.
$(O)/tests/bench/test_energy: TEST_LIBS += -rdynamic
# One lets memory run out.
$(O)/tests/bench/test_models: TEST_LIBS += -Wl,--wrap=strdup

# The same programs, which also write the core's inputs to a file.
RECORD_WRAP := -Wl,--wrap=gp_sched_init,--wrap=gp_sched_step,--wrap=gp_sched_set_policy \
	-Wl,--wrap=gp_sched_set_share,--wrap=gp_sched_set_hold_piece
$(O)/tests/sched/record_%: $(O)/obj/tests/sched/test_%.o $(call obj,tests/sched/record.c $(TEST_COMMON)) $(CORE_A)
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $(RECORD_WRAP) $^ -o $@ -lcmocka -ldl -lm
$(O)/tests/softgpu/record_%: $(O)/obj/tests/softgpu/test_%.o $(call obj,bench/model/sim_sched.c tests/sched/record.c $(TEST_COMMON)) $(MODEL_A) $(CORE_A)
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $(RECORD_WRAP) $^ -o $@ -lcmocka -ldl -lm

# The gfx9 interpreter of the software GPU, as a program of user space.
GFX9_SRCS := $(wildcard kfd-patch/simgpu/gfx9*.c)
$(filter $(O)/tests/gfx9/%,$(TEST_PROGS)): \
	$(call obj,tests/gfx9/machine.c tests/gfx9/probe.c $(GFX9_SRCS))

# Every unit test, every replayed input, and the programs end to end: in sequence even with -j,
# because both use all cores.
ifneq ($(SAN),)
check-e2e: | check-unit
endif
check-asan: need-check
	$(Q)$(MAKE) -k --no-print-directory O=$(O)-asan TALLY=$(TALLY) \
		SAN=address,undefined CFLAGS='-O1 -g' check-unit check-e2e
check-tsan: need-check
	$(Q)$(MAKE) -k --no-print-directory O=$(O)-tsan TALLY=$(TALLY) \
		SAN=thread CFLAGS='-O1 -g' check-unit check-e2e
KILLS := $(if $(WHOLE),100,10)
SEEDS := $(if $(WHOLE),5,2)
check-kills: need-check all $(DAEMON_FAKE)
	$(Q)GP_KILLS=$(KILLS) $(RUN) --jobs $(SEEDS) --seeds $(SEEDS) --match at_random_moments \
		--timeout 900 tests/e2e/test_kill_soft.py tests/e2e/test_daemon_keep.py
# Each process around memory that moves is killed.
.PHONY: check-memory
check-memory: need-check all
	$(Q)GP_WHOLE=1 $(RUN) --timeout 1800 tests/e2e/test_memory_daemon.py
# Slurm's plugin where its header is.
check-long: $(and $(wildcard /usr/include/slurm/spank.h),$(SPANK))
check-long: need-check all $(THREADS) $(TOOL) $(DAEMON_FAKE) $(FAIL_CALLS)
	$(Q)$(RUN) --pin --timeout 600 $(E2E_LONG)
	$(Q)$(RUN) --match test_rules tests/gpu/test_soft.py
# Pods of the next Debian's containerd, if this machine can fetch it.
NEXT_CONTAINERD := $(abspath $(O))/containerd
.PHONY: check-pods
check-pods: need-check all
	$(Q)[ -d $(NEXT_CONTAINERD) ] || mmdebstrap --quiet --variant=extract --include=containerd trixie \
		$(NEXT_CONTAINERD) || rm -rf $(NEXT_CONTAINERD)
	$(Q)GP_CONTAINERD=$(NEXT_CONTAINERD)/usr/bin $(RUN) tests/e2e/test_pods.py
# Random sequences of driver calls, with the layer and without: 10^5, or 10^6 with WHOLE=1. And
# programs of an older C library, if this machine can fetch one.
OLD_LIBC := $(abspath $(O))/old-libc
.PHONY: check-calls
check-calls: need-check all $(CALLS)
	$(Q)GP_CALL_SEQUENCES=$(if $(WHOLE),500000,50000) $(RUN) --jobs 2 --seeds 2 --timeout 3000 \
		--match same_results tests/e2e/test_layer_soft.py
	$(Q)[ -d $(OLD_LIBC) ] || mmdebstrap --quiet --variant=extract --include=libc6 bullseye \
		$(OLD_LIBC) || rm -rf $(OLD_LIBC)
	$(Q)GP_OLD_LIBC=$(OLD_LIBC) $(RUN) --match Stub tests/e2e/test_layer_soft.py
# The suites of check-gpu on the software GPU, against their bars.
check-soft: need-check all
	$(Q)$(RUN) --jobs 1 --timeout 900 tests/gpu/test_soft.py

# Plausible mistakes in the core, one at a time: the unit tests of sched/ catch each.
.PHONY: mutations
mutations: need-check
	$(Q)CC='$(CC)' $(PYTHON) tests/mutate.py --jobs 2

# ---- fuzzing: libFuzzer where clang is, and the corpora replayed anywhere ----
FUZZ_SECONDS ?= 30
FUZZ_SRCS    := $(LIB_SRCS) $(MODEL_SRCS) $(filter-out %/main.c,$(SERVER_SRCS)) \
	cli/parse.c softgpu/cuda/ptx.c $(GFX9_SRCS) tests/gfx9/machine.c $(DAEMON_SRCS) \
	$(filter-out %/rundir.c,$(wildcard bench/plan/*.c bench/report/*.c)) bench/run/peer.c
FUZZERS      := $(patsubst %,$(O)/fuzz/fuzz_%,$(FUZZ_NAMES))
FUZZ_SAN     := -fsanitize=address,undefined -fno-sanitize-recover=undefined
fuzz_obj = $(patsubst %.c,$(O)/fuzz/obj/%.o,$(1))

$(O)/fuzz/replay_%: $(O)/obj/tests/fuzz/fuzz_%.o $(O)/obj/tests/fuzz/replay.o \
		$(call obj,$(FUZZ_SRCS))
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $^ -o $@ $(DAEMON_LIBS) -ljansson -ldl -lm
$(O)/fuzz/obj/%.o: %.c
	$(call msg,CLANG,$<)mkdir -p $(@D)
	$(Q)$(CCACHE) clang $(gp_CPPFLAGS) -std=gnu11 -O1 -g -fPIC -pthread $(FUZZ_SAN) \
		-fsanitize=fuzzer-no-link -MMD -MP -c $< -o $@
$(O)/fuzz/fuzz_%: $(O)/fuzz/obj/tests/fuzz/fuzz_%.o $(call fuzz_obj,$(FUZZ_SRCS))
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)clang -pthread $(FUZZ_SAN) -fsanitize=fuzzer $^ -o $@ $(DAEMON_LIBS) -ljansson -ldl -lm
-include $(shell find $(O)/fuzz/obj -name '*.d' 2>/dev/null)

.PHONY: check-replay
check-replay: need-check $(REPLAYS)
	$(Q)$(RUN) $(REPLAYS)
fuzz: need-fuzz $(FUZZERS)
	$(Q)nice -n 19 $(PYTHON) tests/fuzz/run.py --tally $(TALLY) $(FUZZ_SECONDS) $(O) $(FUZZ_NAMES)

# ---- style ------------------------------------------------------------------
# Kernel code has checkers of its own: make kfd-lint. cppcheck does not know
# list_for_each_entry() nor, of the last one, an include by macro.
C_FILES = $(shell git ls-files '*.c' | grep -v -e kernels_ptx -e ^kfd-patch/ \
	-e ^tests/kfd/ -e tests/hsaq/test_abi)
# Excludes compiler output; kfd-patch/uapi has a .clang-format of its own.
FORMAT_FILES = $(shell git ls-files '*.c' '*.cpp' '*.h' '*.hpp' | grep -v _ptx.c)
CPPCHECK = cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 \
	--enable=warning,portability --suppress=missingIncludeSystem \
	--suppress=unknownMacro -I. -Iinclude
SHELL_FILES = $(shell git ls-files | xargs grep -lE '^#!.*sh$$')
lint: need-lint abi
	$(Q)$(PYTHON) tests/lint.py
	$(Q)$(PYTHON) tests/links.py
	$(Q)$(PYTHON) tests/prose.py
	$(Q)shellcheck $(SHELL_FILES)
	$(Q)$(PYTHON) tests/kerneldoc.py
	$(Q)mypy --strict --cache-dir=$(O)/mypy --no-error-summary python/gpreempt
	$(Q)git ls-files -z | xargs -0 codespell -q 3
	$(Q)git ls-files -z '*.md' | xargs -0 mdl --style .mdl-style.rb
	$(Q)$(PYTHON) tests/commits.py
	$(Q)$(PYTHON) docs/figures/make.py --check
	$(Q)echo $(FORMAT_FILES) | xargs -P2 -n64 clang-format --dry-run -Werror
	$(Q)mkdir -p $(O)/cppcheck
	$(Q)$(CPPCHECK) -j2 --cppcheck-build-dir=$(O)/cppcheck $(C_FILES)

# ---- clang-tidy, coverage, and commands for editors -----------------------------
# compile_commands.json is for `clangd` and clang-tidy. `tidy` checks files that changed since
# SINCE, by .clang-tidy. clang 14 has no _Float16 for test_valu.c.
# CI= leaves out -Werror: clang warns where gcc does not.
SINCE    ?= HEAD~1
TIDY_ALL  = $(filter-out tests/gfx9/test_valu.c tests/fuzz/%,$(C_FILES))
TIDY      = $(filter $(TIDY_ALL),$(shell git diff --name-only --diff-filter=d $(SINCE)))
.PHONY: compile_commands.json tidy tidy-all coverage
compile_commands.json: need-check
	$(Q)$(MAKE) --no-print-directory -Bn CI= V=1 all $(TEST_PROGS) $(REPLAYS) $(MODEL_PROGS) 2>/dev/null | \
		$(PYTHON) tests/compile_commands.py >$@
# Findings come each time. A crash of clang-tidy does not, so a second run decides.
CLANG_TIDY = clang-tidy --quiet -p .
tidy: need-tidy compile_commands.json
	$(Q)echo $(TIDY) | xargs -r -P2 -n8 $(CLANG_TIDY) >$(O)/tidy.log 2>&1 || { \
		cat $(O)/tidy.log; bad=0; echo 'clang-tidy failed: once more, file by file'; \
		for file in $(TIDY); do $(CLANG_TIDY) $$file || bad=1; done; exit $$bad; }
tidy-all: need-tidy
	$(Q)$(MAKE) --no-print-directory TIDY='$$(TIDY_ALL)' tidy

# Unit and end-to-end tests together. Killed processes leave no figures.
COVERAGE := -O1 -g --coverage -fprofile-update=atomic
coverage: need-coverage
	$(Q)find $(O)-coverage -name '*.gcda' -delete 2>/dev/null || :
	$(Q)$(MAKE) -k --no-print-directory O=$(O)-coverage TALLY=$(TALLY) CFLAGS='$(COVERAGE)' CC='$(filter-out ccache,$(CC))' \
		LDFLAGS=--coverage check-unit check-e2e || echo 'coverage: a test failed' >&2
	$(Q)gcovr --root . --object-directory $(O)-coverage/obj --exclude tests/ --exclude kfd-patch/ \
		--exclude examples/ --gcov-ignore-parse-errors --print-summary --txt $(O)-coverage/coverage.txt
	@echo 'each file: $(O)-coverage/coverage.txt'

format:
	$(Q)echo $(FORMAT_FILES) | xargs -P2 -n64 clang-format -i

# git then checks each commit message by hooks/commit-msg.
.PHONY: hooks
hooks:
	$(Q)git config core.hooksPath hooks

# ---- the recipes of CONTRIBUTING.md, in a copy of the tree and this build -----
.PHONY: recipes
recipes: need-check need-lint all
	$(Q)$(RUN) --timeout 900 tests/recipes.py

# ---- the README's commands in a bare Debian 12, as root ----------------------
BARE = $(PYTHON) tests/bare/run.py --out $(O)/bare
.PHONY: bare-demo bare-check
bare-demo: need-python
	$(Q)$(BARE) "./setup demo" || test $$? = 77
bare-check: need-python
	$(Q)$(BARE) "./setup demo" "./setup check" || test $$? = 77
# Of two cores the rig's guest uses one. The whole check runs outside of the bare root.
# Most of their time one of the two waits.
at_once = +$(Q)MAKEFLAGS= $(MAKE) -j2 --no-print-directory --output-sync=target \
	O=$(O) TALLY=$(TALLY) FUZZ_SECONDS=$(FUZZ_SECONDS) $(1)
.PHONY: bare-quick kfd-and-bare sanitizers model-and-recipes long-and-fuzz calls-and-kills
bare-quick: need-python
	$(Q)$(BARE) "./setup demo" "./setup quick-tests" || test $$? = 77
kfd-and-bare:
	$(call at_once,kfd-check bare-quick)
sanitizers:
	$(call at_once,check-asan check-tsan)
model-and-recipes:
	$(call at_once,model recipes)
long-and-fuzz:
	$(call at_once,check-long fuzz)
calls-and-kills:
	$(call at_once,check-calls check-kills)

# ---- Debian packages in build/packages, their tests and those of the wheel, as root ----
PACKAGES = $(PYTHON) tests/packages/run.py --out $(O)/packages
.PHONY: packages check-packages
packages: need-packages
	$(Q)$(PACKAGES) --build-only
check-packages: need-packages
	$(Q)$(PACKAGES)

# ---- files that changed since main; on main itself, since the last commit ----
BASE     ?= $(or $(shell for main in main origin/main; do \
	git merge-base HEAD $$main 2>/dev/null && break; done),HEAD)
CHANGED  := $(if $(filter check-quick quick-%,$(MAKECMDGOALS)),$(shell \
	git diff --name-only --diff-filter=d $(BASE); git ls-files --others --exclude-standard))
# Unit tests of the changed folders but the longest, changed tests, and some of each part.
UNITS_LONG := $(addprefix $(O)/tests/,sched/test_hour softgpu/test_sim_sched_share \
	gfx9/test_kernels bench/test_results daemon/test_journal)
UNITS_QUICK := $(addprefix $(O)/tests/,bench/test_workload cli/test_parse client/test_engine \
	daemon/test_config daemon/test_device hal/test_hal hsaq/test_hsaq nvidia/test_hold \
	preload/test_preload runtime/test_runtime sched/test_lc sched/test_be_rotation \
	sched/test_property softgpu/test_model wire/test_wire)
folders   = $(patsubst nvidia-backend,nvidia,$(patsubst libhsaq,hsaq,$(patsubst kfd-patch,gfx9,$(sort \
	$(foreach f,$(CHANGED:tests/%=%),$(firstword $(subst /, ,$f)))))))
UNITS_NOW = $(sort $(UNITS_QUICK) $(filter $(CHANGED:%.c=$(O)/%),$(TEST_PROGS)) \
	$(filter-out $(UNITS_LONG),$(filter $(folders:%=$(O)/tests/%/test_%),$(TEST_PROGS))))
E2E_QUICK := $(call e2e,cli_attach cli_hsaq cli_run daemon_views demo tenant_soft threads_soft)
# $(call each,FILES,COMMAND): unless there are none
each      = $(if $(strip $(1)),$(Q)$(2) $(1))
.PHONY: check-quick quick-tests quick-lint
quick-tests: need-check $(UNITS_NOW) $(PRODUCTS) $(THREADS) $(TOOL) $(CALLS) $(HSAQ_FAKE) $(DAEMON_FAKE)
	$(Q)$(RUN) --timeout 120 $(UNITS_NOW) $(E2E_QUICK)
quick-lint: need-lint
	$(Q)$(PYTHON) tests/lint.py
	$(Q)$(PYTHON) tests/commits.py
	$(call each,$(filter $(FORMAT_FILES),$(CHANGED)),clang-format --dry-run -Werror)
	$(call each,$(filter $(C_FILES),$(CHANGED)),$(CPPCHECK))
	$(call each,$(filter $(SHELL_FILES),$(CHANGED)),shellcheck)
	$(call each,$(filter %.md,$(CHANGED)),mdl --style .mdl-style.rb)
	$(call each,$(CHANGED),codespell -q 3)
	$(call each,$(CHANGED),$(PYTHON) tests/prose.py)
check-quick: need-check
	+$(Q)$(call steps,quick-lint quick-tests,BASE=$(BASE))

# ---- all of it: each step, even after a failure, and one total ----
# What a step printed is in $(O)/steps/, for the end of the output.
steps = rm -rf $(TALLY) $(O)/steps; mkdir -p $(O)/steps; \
	for step in $(1); do \
		log=$(O)/steps/$$step; begin=$$(date +%s); \
		{ $(MAKE) --no-print-directory TALLY=$(TALLY) $(2) $$step 2>&1 || : >$$log.failed; } | \
			tee $$log.log; \
		failed=0; [ ! -e $$log.failed ] || failed=1; \
		echo "\# $$step $$(($$(date +%s) - begin)) $$failed" >>$(TALLY); \
	done; $(PYTHON) tests/run.py --total $(TALLY) $(O)/steps
check: need-check
	+$(Q)$(call steps,check-unit check-e2e)
CI_MORE := lint tidy-all model-and-recipes sanitizers long-and-fuzz calls-and-kills kfd-and-bare
ci-more: need-check
	+$(Q)$(call steps,$(CI_MORE),FUZZ_SECONDS=10)
# Ten million messages that are none, with up to 16 files.
.PHONY: check-garbage
check-garbage: need-check $(O)/tests/daemon/test_serve
	$(Q)GP_GARBAGE=10000000 $(RUN) --timeout 7200 $(O)/tests/daemon/test_serve
# Nobody waits for these. They go before the machine's other programs, if they may, so that its
# load decides no time (AHEAD in tests/e2e/rig.py).
FIRST = $(shell nice -n -10 true 2>/dev/null && echo nice -n -10)
check-hostile: need-check all $(DAEMON_FAKE) $(FAIL_CALLS)
	$(Q)GP_SECONDS=60 GP_TIMES=20 $(FIRST) $(RUN) --jobs 1 --seeds 5 --match made_blocking --timeout 900 \
		tests/e2e/test_hostile.py
	$(Q)GP_SECONDS=60 GP_TIMES=20 $(FIRST) $(RUN) --jobs 1 --timeout 1800 tests/e2e/test_hostile.py
	$(Q)$(MAKE) --no-print-directory O=$(O)-asan TALLY=$(TALLY) \
		SAN=address,undefined CFLAGS='-O1 -g' check-garbage
	$(Q)GP_TIMES=100 $(FIRST) $(RUN) --jobs 1 --match Rights --timeout 1800 tests/e2e/test_hostile.py
	$(Q)GP_SECONDS=60 GP_STOPS=20 GP_FAIL_STEP=1 $(FIRST) $(RUN) --jobs 1 --timeout 7200 \
		$(call e2e,failing_calls flood yield_soft daemon_keep daemon_soft)
nightly: need-check
	+$(Q)$(call steps,kfd-slow bench-rig bare-check check-packages mutations model check-hostile check-kills check-memory check-soft check-pods check-calls check-asan check-tsan fuzz,WHOLE=1 FUZZ_SECONDS=300)
