# SPDX-License-Identifier: Apache-2.0
# check: what a developer runs. ci-more: what is too long for that.

E2E := $(sort $(wildcard tests/e2e/test_*.py tests/softface/test_*.py))
UNIT_FLOOR ?= 1
RUN  = $(PYTHON) tests/run.py

# Tests that drive the built programs run one at a time: each has a software
# GPU of its own, and its figures are in that GPU's clock, but two cores are
# not many.
.PHONY: check check-unit check-e2e check-asan check-tsan ci-more fuzz lint
check-unit: need-tests $(TEST_PROGS)
	$(Q)$(RUN) --build $(O) --floor $(UNIT_FLOOR) $(TEST_PROGS)
check-e2e: need-tests all
	$(Q)$(RUN) --build $(O) --jobs 1 --timeout 300 $(E2E)

# One suite for every backend.
$(filter $(O)/tests/conformance/%,$(TEST_PROGS)): \
	$(call obj,tests/conformance/conformance.c tests/conformance/sim_rig.c)

# What check runs again under ASan and UBSan: every unit test, and the
# programs end to end.
check-asan: need-tests
	$(Q)$(MAKE) --no-print-directory O=$(O)-asan SAN=address,undefined \
		CFLAGS='-O1 -g' check-unit check-replay
check-tsan: need-tests
	$(Q)$(MAKE) --no-print-directory O=$(O)-tsan SAN=thread CFLAGS='-O1 -g' \
		check-unit

# ---- fuzzing: libFuzzer where clang is, and the corpora replayed anywhere ----
FUZZ_SECONDS ?= 30
FUZZ_NAMES   := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SRCS    := $(LIB_SRCS) $(MODEL_SRCS) $(filter-out %/main.c,$(SERVER_SRCS)) \
	cli/parse.c softgpu/cuda/ptx.c
REPLAYS      := $(patsubst %,$(O)/fuzz/replay_%,$(FUZZ_NAMES))
FUZZERS      := $(patsubst %,$(O)/fuzz/fuzz_%,$(FUZZ_NAMES))
FUZZ_SAN     := -fsanitize=address,undefined -fno-sanitize-recover=undefined
fuzz_obj = $(patsubst %.c,$(O)/fuzz/obj/%.o,$(1))

$(O)/fuzz/replay_%: $(O)/obj/tests/fuzz/fuzz_%.o $(O)/obj/tests/fuzz/replay.o \
		$(call obj,$(FUZZ_SRCS))
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)$(CC) $(gp_LDFLAGS) $(LDFLAGS) $^ -o $@ -ldl -lm
$(O)/fuzz/obj/%.o: %.c
	$(call msg,CLANG,$<)mkdir -p $(@D)
	$(Q)clang $(gp_CPPFLAGS) -std=gnu11 -O1 -g -fPIC -pthread $(FUZZ_SAN) \
		-fsanitize=fuzzer-no-link -MMD -MP -c $< -o $@
$(O)/fuzz/fuzz_%: $(O)/fuzz/obj/tests/fuzz/fuzz_%.o $(call fuzz_obj,$(FUZZ_SRCS))
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)clang -pthread $(FUZZ_SAN) -fsanitize=fuzzer $^ -o $@ -ldl -lm
-include $(shell find $(O)/fuzz/obj -name '*.d' 2>/dev/null)

.PHONY: check-replay need-fuzz
check-replay: $(REPLAYS)
	$(Q)for n in $(FUZZ_NAMES); do \
		$(O)/fuzz/replay_$$n tests/fuzz/corpus/$$n || exit 1; done
need-fuzz:
	@$(if $(call have_cmd,clang),,echo 'no clang: apt-get install clang libclang-rt-dev' >&2; exit 1)
fuzz: need-fuzz $(FUZZERS)
	$(Q)for n in $(FUZZ_NAMES); do mkdir -p $(O)/fuzz/corpus_$$n; \
		echo "fuzz $$n: $(FUZZ_SECONDS) s"; \
		$(O)/fuzz/fuzz_$$n -max_total_time=$(FUZZ_SECONDS) -seed=1 \
			-print_final_stats=1 -artifact_prefix=$(O)/fuzz/ \
			$(O)/fuzz/corpus_$$n tests/fuzz/corpus/$$n \
			>$(O)/fuzz/$$n.log 2>&1 || { tail -40 $(O)/fuzz/$$n.log; exit 1; }; \
		grep -E 'number_of_executed_units' $(O)/fuzz/$$n.log; done

# ---- style ------------------------------------------------------------------
C_FILES = $(shell git ls-files '*.c' '*.h' | grep -v kernels_ptx)
lint:
	$(Q)clang-format --dry-run --Werror $(C_FILES)
	$(Q)$(PYTHON) tests/lint.py
	$(Q)cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 \
		--enable=warning,portability --suppress=missingIncludeSystem \
		--suppress=unknownMacro -I. -Iinclude $(filter %.c,$(C_FILES))

check: check-unit check-e2e check-replay check-asan
ci-more: check-tsan fuzz lint
	$(Q)GP_KILLS=500 $(RUN) --build $(O) --jobs 1 --timeout 900 \
		tests/e2e/test_kill_soft.py
