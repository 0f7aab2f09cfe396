# SPDX-License-Identifier: Apache-2.0
# The libraries' binary interface, compared with the baseline in this folder.

# The same objects, linked once more without the symbols that only the preload uses: they may
# change with every commit.
ABI_LIBS := $(O)/abi/libgpreempt.so $(O)/abi/libhsaq.so
ABI_NOW  := $(ABI_LIBS:.so=.abi)
$(O)/abi/libgpreempt.so: $(call obj,$(LIB_SRCS)) client/libgpreempt.map
$(O)/abi/libhsaq.so: $(call obj,$(HSAQ_SRCS)) libhsaq/libhsaq.map
$(ABI_LIBS):
	$(call msg,LD,$@)mkdir -p $(@D)
	$(Q)sed '/^};/q' $(filter %.map,$^) >$(@:.so=.map)
	$(Q)$(CC) -shared $(gp_LDFLAGS) $(LDFLAGS) -Wl,-soname,$(@F).$(SOVERSION) \
		-Wl,--version-script=$(@:.so=.map) $(filter %.o,$^) -o $@ -ldl
# Of types, only those of include/.
$(ABI_NOW): %.abi: %.so | need-lint
	$(Q)readelf -S $< | grep -q '\.debug_info' || \
		{ echo '$<: no debug information: build with -g' >&2; exit 1; }
	$(Q)abidw --headers-dir include --drop-private-types --exported-interfaces-only \
		--no-show-locs --no-corpus-path --no-comp-dir-path --no-elf-needed \
		--type-id-style hash --out-file $@ $<

.PHONY: abi abi-update
# Each difference is an error, also an addition: the commit then changes the baseline, too.
abi: need-lint $(ABI_NOW)
	$(Q)for now in $(ABI_NOW); do \
		abidiff --harmless --suppressions abi/opaque.supp abi/$${now##*/} $$now || \
			{ echo "the ABI changed; on purpose: make abi-update" >&2; exit 1; }; \
	done
abi-update: $(ABI_NOW)
	$(Q)cp $(ABI_NOW) abi/
