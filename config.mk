# SPDX-License-Identifier: Apache-2.0
# What building needs, and which Debian package has it.

have_cmd = $(shell command -v $(1) 2>/dev/null)
have_pkg = $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo yes)

.PHONY: need-cc need-yaml need-daemon need-python need-tests
need-cc:
	@$(if $(call have_cmd,$(firstword $(CC))),,echo 'no C compiler: apt-get install gcc' >&2; exit 1)
	@$(if $(call have_cmd,$(PKG_CONFIG)),,echo 'no pkg-config: apt-get install pkg-config' >&2; exit 1)
	@$(if $(call have_pkg,jansson),,echo 'no jansson: apt-get install libjansson-dev' >&2; exit 1)
	@$(if $(call have_pkg,zlib),,echo 'no zlib: apt-get install zlib1g-dev' >&2; exit 1)
	@$(if $(call have_pkg,ncursesw),,echo 'no ncurses: apt-get install libncurses-dev' >&2; exit 1)
need-yaml:
	@$(if $(call have_pkg,yaml-0.1),,echo 'no libyaml: apt-get install libyaml-dev' >&2; exit 1)
need-daemon: need-yaml
	@$(if $(call have_pkg,libmicrohttpd),,echo 'no libmicrohttpd: apt-get install libmicrohttpd-dev' >&2; exit 1)
need-python:
	@$(if $(call have_cmd,$(PYTHON)),,echo 'no python3: apt-get install python3' >&2; exit 1)
need-tests: need-cc need-daemon need-python
	@$(if $(call have_pkg,cmocka),,echo 'no cmocka: apt-get install libcmocka-dev' >&2; exit 1)
