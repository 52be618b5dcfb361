# SPDX-License-Identifier: GPL-2.0
#
# all        the module for both kernels, the library and the command
# demo       record a real workload in a VM and show what it did
# test       everything that is tested; `check` is part of it
# See README.md.

SHELL := /bin/bash
BUILD ?= build
VERSION := 0.1.0
CC ?= gcc
OPT ?= -O2 -g
CFLAGS := -std=gnu11 $(OPT) -Wall -Wextra -Werror -Wno-unused-parameter -D_GNU_SOURCE \
	-DKL_VERSION=\"$(VERSION)\"

# The tables' order is part of the hash; both sides must agree on it.
TABLES := uapi/events.def uapi/syscalls.def uapi/handlers.def uapi/variables.def
SCHEMA_HASH := $(shell cat $(TABLES) | scripts/schema-hash)
CFLAGS += -DKL_SCHEMA_HASH=$(SCHEMA_HASH)

all: modules

# ------------------------------------------------------------------ module

KERNELS ?= 6.1 6.12
CACHE := $(or $(KERNLENS_CACHE),.cache)

# Headers of both kernels, unpacked. The stamp is what modules wait for.
$(CACHE)/%/release:
	vm/fetch $*

modules: $(KERNELS:%=module-%)

# kbuild works on a tree of links, one a kernel, so that the sources stay clean.
module-%: $(CACHE)/%/release
	@release=$$(cat $<); tree=$(BUILD)/$$release; mkdir -p $$tree; \
	find $$tree -type l -path '*/kernel/*' -delete; \
	find $$tree -type l -path '*/uapi/*' -delete; \
	cp -rs $(CURDIR)/kernel $(CURDIR)/uapi $$tree/ && \
	$(MAKE) --no-print-directory -C $$(realpath $(CACHE)/$*/headers) M=$(CURDIR)/$$tree/kernel \
		KL_SCHEMA_HASH=$(SCHEMA_HASH) KL_VERSION=$(VERSION) modules && \
	cp $$tree/kernel/kernlens.ko $$tree/kernlens.ko

.PHONY: all modules
