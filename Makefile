# SPDX-License-Identifier: GPL-2.0
#
# all      the module and the example of a handler for both kernels, the library and the command
# demo     record a real workload in a virtual machine and show what it did
# demo-fleet  three machines, an alarm, and one timeline of what they recorded
# test     everything that is tested; `check` is part of it
# test-debug  the suites that run in a kernel on one with checkers (KASAN, lockdep,
#          kmemleak), and every allocation of the module failing once; builds that
#          kernel first, which takes 20 minutes, and is not part of `test`
# test-kcsan  the kernel suite on a kernel that looks for data races, the same way
# test-long  what takes hours: the fuzzer of the device for an hour on each kernel, those two
#          included, the fuzzer of each parser for 20 minutes (KL_PARSER_SECONDS), long soaks and
#          splicing, and on all kernels of `test` what that tests on 6.12 only
# check    format, lint, rules of the house
# bench    what tracing costs, beside the kernel's own and others' tools
# vm       a boot of both kernels, to see that the harness works
# kernels  builds for KERNEL, boots it, runs the core suites and prints a row of docs/kernels.md
# install  the command, the library, the pages, and the module through DKMS; with DESTDIR, for
#          packagers, only files below it; uninstall removes all that install has put there
# packages  Debian's source and binary packages, for the release that this runs on
# clean    all that was built; the kernels stay in .cache
#
# demo, the tests, check and bench install what they need first (scripts/deps).
# V=1 prints the commands.

SHELL := /bin/bash
BUILD ?= build
VERSION := 0.1.0
CC ?= gcc
OBJCOPY ?= objcopy
OPT ?= -O2 -g
PREFIX ?= /usr/local
KERNELS ?= $(shell vm/kernels --tested)
CORE_KERNELS ?= $(shell vm/kernels --core)
CACHE := $(or $(KERNLENS_CACHE),.cache)

# The tables decide the layout of records: both sides must have the same.
TABLES := uapi/events.def uapi/syscalls.def uapi/handlers.def uapi/variables.def \
	uapi/settings.def
SCHEMA_HASH := $(shell cat $(TABLES) | scripts/schema-hash)

CFLAGS := -std=gnu11 $(OPT) -Wall -Wextra -Werror -Wno-unused-parameter -D_GNU_SOURCE \
	-DKL_VERSION=\"$(VERSION)\" -DKL_SCHEMA_HASH=$(SCHEMA_HASH)

# step NAME: begins a command that makes a file, and prints a short line for it, or nothing with -s;
# with V=1, make prints the command.
ifneq ($(V),1)
.SILENT:
ifeq ($(findstring s,$(firstword -$(MAKEFLAGS))),)
step = printf '  %-7s %s\n' $(1) $(@:$(BUILD)/%=%);
endif
endif

all: modules examples library command

include lib/lib.mk
include view/view.mk
include cli/cli.mk
include fleet/fleet.mk
include examples/examples.mk

UNIT_TESTS :=
include $(wildcard tests/unit/*/unit.mk)
include tests/kernel/kernel.mk
include tests/cli/cli.mk
-include tests/events/events.mk
include tests/block/block.mk
include tests/crash/crash.mk
include tests/debugger/debugger.mk
include tests/fuzz/fuzz.mk
include tests/view/view.mk

library: $(LIB) $(LIB_SHARED)
command: $(BUILD)/kernlens $(BUILD)/kernlens-fleet

# ------------------------------------------------------------------ module

# Headers of a kernel, unpacked, and the kernel itself. Not to be deleted by make.
.PRECIOUS: $(CACHE)/%/release
$(CACHE)/%/release:
	scripts/deps build vm
	vm/fetch $*

# Those with checkers are built here.
.PRECIOUS: $(CACHE)/6.1-%/release
$(CACHE)/6.1-%/release: vm/debug-kernel vm/debug.config vm/kcsan.config
	scripts/deps build vm debug
	vm/debug-kernel $*

# A newer emulator than Debian 12's.
$(CACHE)/qemu/version:
	scripts/deps vm
	vm/fetch qemu

# An emulator of a processor that tracks indirect branches (vm/run --ibt), built from source.
$(CACHE)/bochs/version: vm/ibt-emulator
	scripts/deps vm ibt
	vm/ibt-emulator

modules: $(KERNELS:%=module-%)

# The module needs no types of its own, so no pahole, whose version kbuild compares with the kernel's.
# Warnings are errors, except where DKMS builds the module with a compiler of the future.
KBUILD_SETTINGS := CONFIG_DEBUG_INFO_BTF_MODULES= PAHOLE_VERSION=0 CONFIG_PAHOLE_VERSION=0 KCFLAGS=-Werror

# kbuild NAME, TREE: builds modules in a tree for a kernel. A recipe's settings follow the call.
kbuild = vm/with-tools $(1) $(MAKE) --no-print-directory -C $$(realpath $(CACHE)/$(1)/headers) \
	M=$(CURDIR)/$(2) $(KBUILD_SETTINGS) modules

# kbuild works on a tree of links, one a kernel, so that the sources stay clean. The module there has
# debug information; the one beside it is for the guests, each of which reads all of it.
module-%: $(CACHE)/%/release
	+release=$$(cat $<); tree=$(BUILD)/$$release; mkdir -p $$tree; \
	find $$tree -type l \( -path '*/kernel/*' -o -path '*/uapi/*' \) -delete; \
	cp -rs $(CURDIR)/kernel $(CURDIR)/uapi $$tree/ && \
	$(call kbuild,$*,$$tree/kernel) KL_SCHEMA_HASH=$(SCHEMA_HASH) KL_VERSION=$(VERSION) && \
	$(OBJCOPY) --strip-debug $$tree/kernel/kernlens.ko $$tree/kernlens.ko

# ------------------------------------------------------------- what it does

# On all processors, unless whoever called make has said how many.
ALL_CPUS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

demo demo-fleet test test-debug test-kcsan test-long bench vm kernels: | $(CACHE)/qemu/version
test-long: | $(CACHE)/bochs/version

demo:
	echo "kernlens: installing packages that are missing, and building; a few minutes the first time"
	scripts/deps build vm test
	$(MAKE) -s --no-print-directory $(ALL_CPUS) all
	scripts/demo

demo-fleet:
	echo "kernlens: installing packages that are missing, and building; a few minutes the first time"
	scripts/deps build vm demo-fleet
	$(MAKE) -s --no-print-directory $(ALL_CPUS) module-6.12 command
	scripts/demo-fleet

test:
	scripts/deps build vm test fleet check bench page
	$(MAKE) --no-print-directory $(ALL_CPUS) all test-programs core-tests fuzzers
	tests/run

test-debug:
	scripts/deps build vm test fleet
	$(MAKE) --no-print-directory $(ALL_CPUS) KERNELS=6.1-debug all kernel-tests block-tests cli-tests
	KL_TEST_TIMEOUT=7200 tests/run --debug

test-kcsan:
	scripts/deps build vm test
	$(MAKE) --no-print-directory $(ALL_CPUS) KERNELS=6.1-kcsan all kernel-tests
	KL_TEST_TIMEOUT=7200 tests/run --kcsan

test-long:
	scripts/deps build vm test fleet bench package page
	$(MAKE) --no-print-directory $(ALL_CPUS) KERNELS="$(KERNELS) $(CORE_KERNELS) 6.1-debug 6.1-kcsan" \
		VARIANTS="$(KERNELS) $(CORE_KERNELS)" CORE_KERNELS="$(CORE_KERNELS) $(shell vm/kernels --more)" \
		all test-programs core-tests fuzzers
	KL_TEST_TIMEOUT=7200 tests/run --long

check:
	scripts/deps build vm test check
	$(MAKE) --no-print-directory $(ALL_CPUS) all test-programs
	scripts/check/run

bench:
	scripts/deps build vm bench
	$(MAKE) --no-print-directory $(ALL_CPUS) all module-6.1
	bench/run full

vm: modules
	vm/run -k all -- uname -r

# KERNEL may name several.
kernels:
	$(if $(KERNEL),,$(error make kernels KERNEL="NAME...": a name or release for vm/fetch, or a folder))
	scripts/deps build vm test
	set -e; for kernel in $(KERNEL); do vm/fetch $$kernel; done
	$(MAKE) --no-print-directory $(ALL_CPUS) CORE_KERNELS="$(notdir $(KERNEL))" core-tests
	tests/kernels/run $(notdir $(KERNEL))

# ----------------------------------------------------------------- install

# Where the machine has its libraries and services; packagers set these, too.
LIBDIR ?= $(PREFIX)/lib
# Where the machine's Python looks for packages below PREFIX.
PYTHON_DIR ?= $(PREFIX)/lib/python$(shell python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')/dist-packages
UNITDIR ?= /lib/systemd/system
UDEVDIR ?= /lib/udev

BIN := $(DESTDIR)$(PREFIX)/bin
LIBRARIES := $(DESTDIR)$(LIBDIR)
PKGCONFIG_FILES := $(LIBRARIES)/pkgconfig
PYTHON_PACKAGE = $(DESTDIR)$(PYTHON_DIR)/kernlens
HEADERS := $(DESTDIR)$(PREFIX)/include/kernlens
MAN := $(DESTDIR)$(PREFIX)/share/man
BASH_COMPLETIONS := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
FISH_COMPLETIONS := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
ZSH_COMPLETIONS := $(DESTDIR)$(PREFIX)/share/zsh/vendor-completions
MODULE_SOURCE := $(DESTDIR)/usr/src/kernlens-$(VERSION)
UNITS := $(DESTDIR)$(UNITDIR)
SERVICES := kernlens-watch.service kernlens-history.service kernlens-serve.service kernlens-serve.socket \
	kernlens-recorder.service kernlens-crash.service kernlens-kept.service kernlens-ship.service
DASHBOARDS := $(DESTDIR)$(PREFIX)/share/kernlens/grafana
SERVERS := $(DESTDIR)$(PREFIX)/share/kernlens/nats
DATABASES := $(DESTDIR)$(PREFIX)/share/kernlens/clickhouse
# What the command starts.
PROGRAMS := $(DESTDIR)$(PREFIX)/libexec/kernlens
# Scripts for debuggers, and what makes gdb load them when it starts.
DEBUGGERS := $(DESTDIR)$(PREFIX)/share/kernlens/gdb
GDBINIT := $(DESTDIR)/etc/gdb/gdbinit.d/kernlens.gdb
# Who may open the device: a group, and the rule that gives it the device.
SYSUSERS := $(DESTDIR)/usr/lib/sysusers.d/kernlens.conf
UDEV := $(DESTDIR)$(UDEVDIR)/rules.d/60-kernlens.rules
# Edited by the administrator: never overwritten, and removed only if unchanged.
RULES := $(DESTDIR)/etc/kernlens/watch.rules
MODPROBE := $(DESTDIR)/etc/modprobe.d/kernlens.conf
# What is said at login.
MOTD := $(DESTDIR)/etc/update-motd.d/95-kernlens

# Of the contract: the headers, and the tables that they include.
UAPI_INSTALLED = $(wildcard uapi/*.h) uapi/events.def uapi/handlers.def uapi/settings.def \
	uapi/limits.def uapi/block_refusals.def
# Every folder that gets a file, and the list of those that did not exist before: uninstall
# removes them.
FOLDERS = $(BIN) $(PKGCONFIG_FILES) $(PYTHON_PACKAGE) $(HEADERS)/uapi $(MAN)/man1 $(MAN)/man5 $(MAN)/man7 \
	$(BASH_COMPLETIONS) $(FISH_COMPLETIONS) $(ZSH_COMPLETIONS) $(MODULE_SOURCE) $(UNITS) $(DASHBOARDS) \
	$(SERVERS) $(DATABASES) $(PROGRAMS) $(DEBUGGERS) $(dir $(SYSUSERS) $(UDEV) $(RULES) $(MODPROBE) $(MOTD) $(GDBINIT))
FOLDERS_MADE := $(DESTDIR)$(PREFIX)/share/kernlens/folders
# Installs what comes through a pipe, readable whatever the umask is.
PUT := install -m 644 /dev/stdin

install: library command install-module
	$(call step,INSTALL)
	install -m 755 $(BUILD)/kernlens $(BIN)
	install -m 755 $(BUILD)/kernlens-fleet $(PROGRAMS)
	install -m 644 $(LIB) $(LIBRARIES)
	install -m 755 $(LIB_SHARED) $(LIBRARIES)
	ln -sf $(LIB_SONAME) $(LIBRARIES)/libkernlens.so
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@REQUIRES@|$(LIB_PACKAGES)|' \
		-e 's|@LIBS@|$(LIB_OTHER_LIBS)|' lib/kernlens.pc.in | \
		$(PUT) $(PKGCONFIG_FILES)/kernlens.pc
	install -m 644 python/kernlens/*.py python/kernlens/py.typed $(PYTHON_PACKAGE)
	install -m 644 $(LIB_PUBLIC_HEADERS) $(HEADERS)
	install -m 644 $(UAPI_INSTALLED) $(HEADERS)/uapi
	install -m 644 docs/man/*.1 $(MAN)/man1
	install -m 644 docs/man/*.5 $(MAN)/man5
	install -m 644 docs/man/*.7 $(MAN)/man7
	set -o pipefail; scripts/events-doc $(VERSION) | $(PUT) $(MAN)/man7/kernlens-events.7
	install -m 644 packaging/completion/kernlens.bash $(BASH_COMPLETIONS)/kernlens
	install -m 644 packaging/completion/kernlens.fish $(FISH_COMPLETIONS)
	install -m 644 packaging/completion/kernlens.zsh $(ZSH_COMPLETIONS)/_kernlens
	for unit in $(SERVICES); do \
		sed 's|@PREFIX@|$(PREFIX)|' packaging/systemd/$$unit | $(PUT) $(UNITS)/$$unit || exit 1; done
	install -m 644 packaging/grafana/kernlens.json $(DASHBOARDS)
	install -m 644 packaging/nats/kernlens.conf $(SERVERS)
	install -m 644 packaging/clickhouse/*.sql $(DATABASES)
	sed 's|@PREFIX@|$(PREFIX)|' packaging/clickhouse/kernlens-clickhouse.in | install -m 755 /dev/stdin $(BIN)/kernlens-clickhouse
	install -m 644 gdb/*.py $(DEBUGGERS)
	sed 's|@PREFIX@|$(PREFIX)|' packaging/gdb/kernlens.gdb.in | $(PUT) $(GDBINIT)
	test -e $(RULES) || install -m 644 packaging/etc/watch.rules $(RULES)
	test -e $(MODPROBE) || install -m 644 packaging/etc/modprobe.conf $(MODPROBE)
	sed 's|@PREFIX@|$(PREFIX)|' packaging/etc/motd | install -m 755 /dev/stdin $(MOTD)
	install -m 644 packaging/sysusers/kernlens.conf $(SYSUSERS)
	install -m 644 packaging/udev/60-kernlens.rules $(UDEV)
ifeq ($(DESTDIR),)
	ldconfig
	systemd-sysusers $(SYSUSERS)
	-udevadm control --reload
	dkms install --force kernlens/$(VERSION)
endif

# Headers and sources of another version must not stay beside those of this one.
install-folders:
	rm -rf $(MODULE_SOURCE) $(HEADERS) $(PYTHON_PACKAGE)
	scripts/install-folders make $(FOLDERS_MADE) "$(DESTDIR)" $(FOLDERS)

# The module's source, with the hash of the tables that the command was built from.
install-module: install-folders
	cp -r kernel uapi $(MODULE_SOURCE)/
	sed -e 's/@VERSION@/$(VERSION)/g' -e 's/@SCHEMA_HASH@/$(SCHEMA_HASH)/g' \
		packaging/dkms/dkms.conf.in | $(PUT) $(MODULE_SOURCE)/dkms.conf

uninstall:
ifeq ($(DESTDIR),)
	-dkms remove kernlens/$(VERSION) --all
endif
	rm -rf $(MODULE_SOURCE) $(HEADERS) $(PYTHON_PACKAGE) $(DEBUGGERS)
	rm -f $(BIN)/kernlens $(BIN)/kernlens-clickhouse $(LIBRARIES)/libkernlens.* $(PKGCONFIG_FILES)/kernlens.pc \
		$(BASH_COMPLETIONS)/kernlens $(FISH_COMPLETIONS)/kernlens.fish $(ZSH_COMPLETIONS)/_kernlens \
		$(MAN)/man1/kernlens.1 $(MAN)/man1/kernlens-*.1 $(MAN)/man7/kernlens-events.7 \
		$(addprefix $(MAN)/man5/,$(notdir $(wildcard docs/man/*.5))) \
		$(addprefix $(MAN)/man7/,$(notdir $(wildcard docs/man/*.7))) \
		$(SERVICES:%=$(UNITS)/%) $(SYSUSERS) $(UDEV) $(MOTD) $(DASHBOARDS)/kernlens.json \
		$(SERVERS)/kernlens.conf $(DATABASES)/schema.sql $(DATABASES)/queries.sql \
		$(PROGRAMS)/kernlens-fleet $(GDBINIT)
	! cmp -s packaging/etc/watch.rules $(RULES) || rm -f $(RULES)
	! cmp -s packaging/etc/modprobe.conf $(MODPROBE) || rm -f $(MODPROBE)
	scripts/install-folders remove $(FOLDERS_MADE) "$(DESTDIR)"
ifeq ($(DESTDIR),)
	ldconfig
	-udevadm control --reload
endif

# ---------------------------------------------------------------- packages

packages:
	scripts/deps build package
	packaging/build $(BUILD)/packages
	ls $(BUILD)/packages/*.deb

test-programs: $(UNIT_TESTS) kernel-tests event-tests cli-tests block-tests crash-tests debugger-tests view-tests

clean:
	rm -rf $(BUILD)

.PHONY: all library command modules kernels demo demo-fleet test test-debug test-kcsan test-long check bench vm test-programs install \
	install-folders install-module uninstall packages clean
