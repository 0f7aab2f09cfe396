# SPDX-License-Identifier: Apache-2.0
# What this machine lacks, by Debian's names. ./setup has the whole table, and installs.

hash := \#
have_cmd = $(shell command -v $(1) 2>/dev/null)
# $(call lacks_command,NAME,PACKAGE), $(call lacks_header,NAME,PACKAGE): PACKAGE, or nothing
lacks_command = $(if $(call have_cmd,$(1)),,$(2))
lacks_header = $(shell printf '$(hash)if !__has_include(<%s>)\n$(hash)error\n$(hash)endif\n' $(1) | \
	$(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 || echo $(2))

lacks_python = $(call lacks_command,$(PYTHON),python3)
compiler = $(firstword $(filter-out ccache,$(CC)))
lacks_demo = $(call lacks_command,$(compiler),gcc) \
	$(call lacks_header,stdio.h,libc6-dev) \
	$(call lacks_header,jansson.h,libjansson-dev) \
	$(call lacks_header,ncurses.h,libncurses-dev) $(lacks_python)
lacks_all = $(lacks_demo) $(call lacks_header,yaml.h,libyaml-dev) \
	$(call lacks_header,microhttpd.h,libmicrohttpd-dev) \
	$(call lacks_header,zlib.h,zlib1g-dev)
compiler_cxx = $(firstword $(filter-out ccache,$(CXX)))
lacks_check = $(lacks_all) $(call lacks_header,cmocka.h,libcmocka-dev) \
	$(call lacks_command,$(compiler_cxx),g++)
lacks_lint = $(call lacks_command,git,git) \
	$(call lacks_command,clang-format,clang-format) \
	$(call lacks_command,cppcheck,cppcheck) \
	$(call lacks_command,aspell,aspell aspell-en) $(call lacks_command,shellcheck,shellcheck) \
	$(call lacks_command,mypy,mypy) \
	$(call lacks_command,codespell,codespell) $(call lacks_command,abidiff,abigail-tools) \
	$(call lacks_command,readelf,binutils) $(call lacks_command,mdl,ruby-mdl)
lacks_tidy = $(lacks_check) $(call lacks_command,clang-tidy,clang-tidy)
lacks_coverage = $(lacks_check) $(call lacks_command,gcovr,gcovr)
lacks_model = $(lacks_check) $(call lacks_command,spin,spin)
lacks_packages = $(lacks_all) $(call lacks_command,git,git) \
	$(call lacks_command,dpkg-buildpackage,dpkg-dev) $(call lacks_command,dh,debhelper) \
	$(call lacks_command,scdoc,scdoc)
lacks_fuzz = $(call lacks_command,clang,clang libclang-rt-dev)

# need-SET ends a target that lacks packages, and names the command that installs them.
NEEDS := $(addprefix need-,python demo all check lint fuzz tidy coverage model packages)
goals := $(or $(MAKECMDGOALS),all)
goal_set := $(if $(filter-out demo,$(goals)),$(if $(filter check% quick% lint,$(goals)),check,all),demo)
say_lacks = $(if $(1),echo 'gpreempt: missing packages: $(1). Run: ./setup $(2)' >&2; exit 1,:)
.PHONY: $(NEEDS)
$(NEEDS): need-%:
	@$(call say_lacks,$(strip $(lacks_$*)),$(if $(filter fuzz tidy coverage model packages,$*),$*,$(goal_set)))
