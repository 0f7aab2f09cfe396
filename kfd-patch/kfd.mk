# SPDX-License-Identifier: Apache-2.0
# The KFD with the series, over a software GPU, in QEMU. kfd-patch/rig/rig.py does all work. It
# describes its options, and names a missing Debian package.

KFD_OUT  := $(O)/kfd
KFD_JOBS ?= $(shell nproc)
RIG       = $(PYTHON) -B kfd-patch/rig/rig.py
rig_opts  = --out $(KFD_OUT) -j $(KFD_JOBS) $(if $(AGAIN),--again $(AGAIN)) $(KFD_OPTIONS)

.PHONY: kfd-check kfd-series kfd-stock kfd-slow kfd-check-long kfd-mutants kfd-build \
	kfd-lint kfd-newest kfd-kfdtest kfd-shell
# The series, then libhsaq on the unmodified kernel. kfd-slow: HIP programs, long counts, and
# try-on-hardware.sh on silicon with faults.
kfd-check: need-python
	+$(Q)bad=0; for part in kfd-series kfd-stock; do \
		$(MAKE) --no-print-directory $$part || bad=1; done; exit $$bad
kfd-series: need-python
	$(Q)$(RIG) run $(rig_opts) --suite check --tally $(TALLY)
kfd-stock: need-python
	$(Q)$(RIG) run $(rig_opts) --base --suite stock --tally $(TALLY)
kfd-slow: need-python
	$(Q)bad=0; \
	$(RIG) run $(rig_opts) --suite slow,hip --tally $(TALLY) || bad=1; \
	$(RIG) run $(rig_opts) --base --suite stock-slow --tally $(TALLY) || bad=1; \
	exit $$bad

# Debian's kernel with all counts; then a tenth of them on two kernels of our own.
kfd-check-long: need-python
	$(Q)bad=0; \
	$(RIG) run $(rig_opts) --suite long --scale 1 --tally $(TALLY) || bad=1; \
	$(RIG) run $(rig_opts) --suite long --scale 0.1 --flavour kasan --patience 4 --tally $(TALLY) || bad=1; \
	$(RIG) run $(rig_opts) --suite long --scale 0.1 --flavour kmemleak --patience 4 --tally $(TALLY) || bad=1; \
	exit $$bad

kfd-mutants: need-python
	$(Q)$(RIG) mutants $(rig_opts)
kfd-build: need-python
	$(Q)$(RIG) full $(rig_opts)
kfd-lint: need-python
	$(Q)$(RIG) lint $(rig_opts)
kfd-newest: need-python
	$(Q)$(RIG) newest $(rig_opts)
# AMD's own tests. KFDTEST is the program; kfd-patch/rig/README.md has how to build it.
kfd-kfdtest: need-python
	$(Q)mkdir -p $(KFD_OUT) && cp $(KFDTEST) $(KFD_OUT)/kfdtest
	$(Q)$(RIG) run $(rig_opts) --base --suite kfdtest
kfd-shell: need-python
	$(Q)$(RIG) shell $(rig_opts)
