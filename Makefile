# SPDX-License-Identifier: GPL-2.0
#
# all      the module for both kernels, the library and the command
# demo     record a real workload in a virtual machine and show what it did
# test     everything that is tested; `check` is part of it
# check    format, lint, rules of the house
# bench    what tracing costs, beside the kernel's own and others' tools
# vm       a boot of both kernels, to see that the harness works
# install  the command, the library, the pages, and the module through DKMS
# clean    all that was built; the kernels stay in .cache
#
# demo, test, check and bench install what they need first (scripts/deps).

SHELL := /bin/bash
BUILD ?= build
VERSION := 0.1.0
CC ?= gcc
OPT ?= -O2 -g
PREFIX ?= /usr/local
KERNELS ?= 6.1 6.12
CACHE := $(or $(KERNLENS_CACHE),.cache)

# The tables decide the layout of records: both sides must have the same.
TABLES := uapi/events.def uapi/syscalls.def uapi/handlers.def uapi/variables.def
SCHEMA_HASH := $(shell cat $(TABLES) | scripts/schema-hash)

CFLAGS := -std=gnu11 $(OPT) -Wall -Wextra -Werror -Wno-unused-parameter -D_GNU_SOURCE \
	-DKL_VERSION=\"$(VERSION)\" -DKL_SCHEMA_HASH=$(SCHEMA_HASH)

all: modules library command

include lib/lib.mk
include cli/cli.mk

UNIT_TESTS :=
include $(wildcard tests/unit/*/unit.mk)
include tests/kernel/kernel.mk
-include tests/events/events.mk

library: $(LIB) $(LIB_SHARED) $(BUILD)/kernlens.pc
command: $(BUILD)/kernlens

# ------------------------------------------------------------------ module

# Headers of a kernel, unpacked, and the kernel itself.
$(CACHE)/%/release:
	scripts/deps build vm
	vm/fetch $*

modules: $(KERNELS:%=module-%)

# kbuild works on a tree of links, one a kernel, so that the sources stay clean.
module-%: $(CACHE)/%/release
	@release=$$(cat $<); tree=$(BUILD)/$$release; mkdir -p $$tree; \
	find $$tree -type l \( -path '*/kernel/*' -o -path '*/uapi/*' \) -delete; \
	cp -rs $(CURDIR)/kernel $(CURDIR)/uapi $$tree/ && \
	$(MAKE) --no-print-directory -C $$(realpath $(CACHE)/$*/headers) M=$(CURDIR)/$$tree/kernel \
		KL_SCHEMA_HASH=$(SCHEMA_HASH) KL_VERSION=$(VERSION) modules && \
	cp $$tree/kernel/kernlens.ko $$tree/kernlens.ko

# ------------------------------------------------------------- what it does

demo:
	@scripts/deps build vm test
	@$(MAKE) --no-print-directory all
	@scripts/demo

test:
	@scripts/deps build vm test check bench
	@$(MAKE) --no-print-directory all test-programs
	@tests/run

check:
	@scripts/deps build vm check
	@$(MAKE) --no-print-directory all test-programs
	@scripts/check/run

bench:
	@scripts/deps build vm bench
	@$(MAKE) --no-print-directory all
	@bench/run full

vm: modules
	vm/run -k all -- uname -r

test-programs: $(UNIT_TESTS) kernel-tests event-tests

clean:
	rm -rf $(BUILD)

.PHONY: all library command modules demo test check bench vm test-programs install clean
