# SPDX-License-Identifier: Apache-2.0
INSTALL ?= install
MAN_PAGES := $(patsubst docs/man/%.scd,$(O)/man/%,$(wildcard docs/man/*.scd))

$(O)/man/%: docs/man/%.scd
	$(call msg,MAN,$@)mkdir -p $(@D)
	$(Q)scdoc <$< >$@

# A page for each call of the libraries: the first node of a version map names them.
api_pages = $(shell sed -n '/local:/q; s/^\t\t\(.*\);$$/\1.3/p' $(1))
GP_API_PAGES   := $(addprefix $(O)/man/,$(call api_pages,client/libgpreempt.map))
HSAQ_API_PAGES := $(addprefix $(O)/man/,$(call api_pages,libhsaq/libhsaq.map))
MAN_PAGES      += $(GP_API_PAGES) $(HSAQ_API_PAGES)

$(GP_API_PAGES): API = libgpreempt include/gpreempt/gpreempt.h
$(GP_API_PAGES): include/gpreempt/class.h include/gpreempt/gpreempt.h
$(HSAQ_API_PAGES): API = libhsaq include/hsaq.h
$(HSAQ_API_PAGES): include/hsaq.h
$(GP_API_PAGES) $(HSAQ_API_PAGES): docs/kerneldoc.py
	$(call msg,MAN,$@)mkdir -p $(@D)
	$(Q)$(PYTHON) docs/kerneldoc.py $(basename $(@F)) $(API) >$@.scd && scdoc <$@.scd >$@ && rm $@.scd

$(O)/gpreempt.pc: client/gpreempt.pc.in
$(O)/hsaq.pc: libhsaq/hsaq.pc.in
$(O)/gpreempt.pc $(O)/hsaq.pc: $(FOLDERS)
	$(Q)mkdir -p $(@D) && sed -e 's|@prefix@|$(prefix)|' -e 's|@libdir@|$(libdir)|' \
		-e 's|@includedir@|$(includedir)|' -e 's|@version@|$(VERSION)|' $(filter %.in,$^) >$@

$(O)/gpreemptd.service: systemd/gpreemptd.service.in $(FOLDERS)
	$(Q)mkdir -p $(@D) && sed -e 's|@sbindir@|$(sbindir)|' $< >$@

# The Python module. Its folder depends on the Python that imports it.
pythondir ?= $(shell $(PYTHON) python/where.py $(prefix))
PYTHON_FILES := __init__.py py.typed torch.py vllm.py
# A wheel for pip, in $(O)/wheel.
.PHONY: wheel
wheel: need-python
	$(Q)rm -rf $(O)/python $(O)/wheel && mkdir -p $(O)/python/gpreempt $(O)/wheel
	$(Q)cp python/pyproject.toml $(O)/python/ && echo $(VERSION) >$(O)/python/VERSION
	$(Q)cp $(PYTHON_FILES:%=python/gpreempt/%) $(O)/python/gpreempt/
	$(Q)$(PYTHON) -m pip --disable-pip-version-check wheel --quiet --no-build-isolation --no-index \
		--no-deps --wheel-dir $(O)/wheel $(O)/python

# Completions, from the programs' --help.
bashdir ?= $(prefix)/share/bash-completion/completions
zshdir  ?= $(prefix)/share/zsh/site-functions
fishdir ?= $(prefix)/share/fish/vendor_completions.d
COMPLETED   := gpreempt gpreemptd gpreempt-bench hsaq
COMPLETIONS := $(COMPLETED:%=$(O)/completions/bash/%) $(COMPLETED:%=$(O)/completions/zsh/_%) \
	$(COMPLETED:%=$(O)/completions/fish/%.fish)
$(O)/completions/bash/%: $(O)/bin/% completions/make.py
	$(call msg,BASH,$*)mkdir -p $(@D)
	$(Q)$(PYTHON) completions/make.py bash $< >$@.part && mv $@.part $@
$(O)/completions/zsh/_%: $(O)/bin/% completions/make.py
	$(call msg,ZSH,$*)mkdir -p $(@D)
	$(Q)$(PYTHON) completions/make.py zsh $< >$@.part && mv $@.part $@
$(O)/completions/fish/%.fish: $(O)/bin/% completions/make.py
	$(call msg,FISH,$*)mkdir -p $(@D)
	$(Q)$(PYTHON) completions/make.py fish $< >$@.part && mv $@.part $@

.PHONY: completions man install uninstall clean help
completions: $(COMPLETIONS)
man: $(if $(call have_cmd,scdoc),$(MAN_PAGES))

# hal.h is for authors of a backend, gpreempt.h for all programs. The example of a
# configuration is not installed as the configuration, as its rules would take effect.
install: all man completions $(O)/gpreempt.pc $(O)/hsaq.pc $(O)/gpreemptd.service
	$(call msg,INSTALL,$(DESTDIR)$(prefix))$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(sbindir) $(DESTDIR)$(pkglibdir)/softgpu \
		$(DESTDIR)$(pkglibdir)/bench/report $(DESTDIR)$(libdir)/pkgconfig \
		$(DESTDIR)$(includedir)/gpreempt $(DESTDIR)$(unitdir) $(DESTDIR)$(docdir)
	@$(INSTALL) -d $(DESTDIR)$(sysconfdir)/gpreempt 2>/dev/null || \
		echo 'cannot create $(DESTDIR)$(sysconfdir)/gpreempt; only a gpreemptd of root needs it, for gpreempt.yaml'
	$(Q)$(INSTALL) -m 755 $(DAEMON) $(DESTDIR)$(sbindir)/
	$(Q)$(INSTALL) -m 644 $(O)/gpreemptd.service systemd/gpreemptd.socket $(DESTDIR)$(unitdir)/
	$(Q)$(INSTALL) -m 644 daemon/gpreempt.yaml $(DESTDIR)$(docdir)/
	$(Q)$(INSTALL) -D -m 644 -t $(DESTDIR)$(exampledir) examples/hint.c
	$(Q)$(INSTALL) -m 755 $(CLI) $(HSAQ_CMD) $(BENCH) $(DESTDIR)$(bindir)/
	$(Q)$(INSTALL) -m 755 $(LIB) $(PRELOAD) $(LAYER) $(HSAQ) $(DESTDIR)$(libdir)/
	$(Q)ln -sf libgpreempt.so.$(SOVERSION) $(DESTDIR)$(libdir)/libgpreempt.so
	$(Q)ln -sf libhsaq.so.$(SOVERSION) $(DESTDIR)$(libdir)/libhsaq.so
	$(Q)$(INSTALL) -m 755 $(SERVER) $(DESTDIR)$(pkglibdir)/
	$(Q)$(INSTALL) -m 644 $(REPORT) $(DESTDIR)$(pkglibdir)/bench/report/
	$(Q)set -e; for f in $(BENCH_DATA:$(O)/lib/gpreempt/%=%); do test -x $$f && m=755 || m=644; \
		$(INSTALL) -D -m $$m $$f $(DESTDIR)$(pkglibdir)/$$f; done
	$(Q)$(INSTALL) -m 755 $(O)/bench/client $(O)/bench/ctxlog $(DESTDIR)$(pkglibdir)/bench/
	$(if $(HIP_KERNELS),$(Q)$(INSTALL) -m 644 $(HIP_KERNELS) $(DESTDIR)$(pkglibdir)/bench/)
	$(Q)$(INSTALL) -m 755 $(FACE) $(CUPTI) $(DESTDIR)$(pkglibdir)/softgpu/
	$(Q)$(INSTALL) -m 644 include/gpreempt/*.h include/gpreempt/*.hpp $(DESTDIR)$(includedir)/gpreempt/
	$(Q)$(INSTALL) -m 644 include/hsaq.h $(DESTDIR)$(includedir)/
	$(Q)set -e; d=$(DESTDIR)$(pythondir)/gpreempt; $(INSTALL) -d $$d; \
		$(INSTALL) -m 644 $(PYTHON_FILES:%=python/gpreempt/%) $$d/; \
		$(PYTHON) python/info.py $(DESTDIR)$(pythondir) $(VERSION)
	$(Q)$(INSTALL) -m 644 $(O)/gpreempt.pc $(O)/hsaq.pc $(DESTDIR)$(libdir)/pkgconfig/
	$(Q)$(INSTALL) -D -m 644 -t $(DESTDIR)$(bashdir) $(filter $(O)/completions/bash/%,$(COMPLETIONS))
	$(Q)$(INSTALL) -D -m 644 -t $(DESTDIR)$(zshdir) $(filter $(O)/completions/zsh/%,$(COMPLETIONS))
	$(Q)$(INSTALL) -D -m 644 -t $(DESTDIR)$(fishdir) $(filter $(O)/completions/fish/%,$(COMPLETIONS))
	$(if $(call have_cmd,scdoc),$(Q)set -e; for m in $(MAN_PAGES); do d=$(DESTDIR)$(mandir)/man$${m##*.}; \
		$(INSTALL) -d $$d; $(INSTALL) -m 644 $$m $$d/; done,@echo 'no man pages: run ./setup -i man, then make install again')

uninstall:
	$(call msg,REMOVE,$(DESTDIR)$(prefix))rm -f $(DESTDIR)$(bindir)/gpreempt $(DESTDIR)$(bindir)/gpreempt-bench $(DESTDIR)$(libdir)/libgpreempt.so* \
		$(DESTDIR)$(libdir)/libgpreempt-preload.so $(DESTDIR)$(libdir)/libgpreempt-layer.so \
		$(DESTDIR)$(bindir)/hsaq $(DESTDIR)$(libdir)/libhsaq.so* \
		$(DESTDIR)$(sbindir)/gpreemptd $(DESTDIR)$(unitdir)/gpreemptd.service \
		$(DESTDIR)$(unitdir)/gpreemptd.socket $(DESTDIR)$(docdir)/gpreempt.yaml \
		$(DESTDIR)$(exampledir)/hint.c \
		$(DESTDIR)$(includedir)/hsaq.h \
		$(DESTDIR)$(libdir)/pkgconfig/gpreempt.pc \
		$(DESTDIR)$(libdir)/pkgconfig/hsaq.pc
	$(Q)rm -rf $(DESTDIR)$(pkglibdir) $(DESTDIR)$(includedir)/gpreempt $(DESTDIR)$(pythondir)/gpreempt \
		$(DESTDIR)$(pythondir)/gpreempt-$(VERSION).dist-info
	$(Q)rm -f $(COMPLETED:%=$(DESTDIR)$(bashdir)/%) $(COMPLETED:%=$(DESTDIR)$(zshdir)/_%) \
		$(COMPLETED:%=$(DESTDIR)$(fishdir)/%.fish)
	$(Q)$(foreach m,$(notdir $(MAN_PAGES)),rm -f $(DESTDIR)$(mandir)/man$(lastword $(subst ., ,$(m)))/$(m);)

clean:
	rm -rf $(O) $(O)-asan $(O)-tsan $(O)-coverage

help:
	@printf '%s\n' \
	'make all          build everything (O=DIR: there, V=1: show commands)' \
	'make demo         see preemption: on the GPU where there is one, else on the software GPU' \
	'make bench        gpreempt and time slices on the model of an H200, in virtual time: a page' \
	'make bench-rig    HIP programs over the KFD with the series, in the rig: the same page' \
	'make check-quick  tests and style of what changed since main: a minute' \
	'make check        unit tests, and the programs end to end, on the software GPU' \
	'make check-asan   unit tests, and end-to-end tests that parse, under ASan and UBSan' \
	'make check-tsan   the tests with threads under TSan' \
	'make ci-more      lint, sanitizers, fuzzing, 500 kills, the KFD: what check leaves out' \
	'make nightly      HIP programs over the KFD, all tests with sanitizers, fuzzing of 5 minutes' \
	'make check-gpu SUITE=latency|exact|kill|safety|many|share|sjf|edf|rules|controls|devices' \
	'                  on an NVIDIA GPU' \
	'make fuzz         fuzz each parser for FUZZ_SECONDS (30)' \
	'make lint         clang-format, cppcheck, codespell, mdl, ABI, commit messages, folder arrows, links, columns' \
	'make mutations    mistakes planted in the core: each must be caught by its unit tests' \
	'make recipes      follow two recipes of CONTRIBUTING.md in a copy of the tree' \
	'make abi-update   accept the ABI of this build as the baseline' \
	'make tidy         clang-tidy on files changed since SINCE (HEAD~1); tidy-all: on all' \
	'make coverage     lines and branches that unit and end-to-end tests run' \
	'make compile_commands.json  for editors' \
	'make format       clang-format on all C files' \
	'make hooks        have git check each commit message' \
	'make kfd-check    the KFD with the series over a software GPU, in QEMU; kfd-slow: HIP programs' \
	'make kfd-check-long  the same with all counts' \
	'make kfd-mutants  faults planted in the series: each must be caught' \
	'make kfd-build    the series against the whole amdgpu driver; kfd-lint: each patch by itself; kfd-newest: the fixes on 7.3; kfd-kfdtest: kfdtest of AMD' \
	'make install      DESTDIR, prefix or PREFIX, libdir as usual; uninstall takes it back' \
	'make wheel        the Python module for pip, in build/wheel' \
	'make packages     Debian packages, in build/packages; check-packages: test them' \
	'make man          man pages, those of each call from the headers (needs scdoc)' \
	'make clean'
