# SPDX-License-Identifier: GPL-2.0
#
# Examples of what others can do with kernlens. Uses BUILD, CACHE, KERNELS, CC, CFLAGS and
# module-NAME.
#
#   examples         examples/handler for each kernel, the programs of examples/2000 and 2007, and
#                    examples/read and live, which see only the library's public headers
#   example-NAME     the same for one, at build/RELEASE/kl_largest.ko
#
# Each kernel has its own copy of links, as for the module; the symbols are those of the kernlens.ko
# that was built last.

EXAMPLE_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(wildcard examples/2000/*.c examples/2007/*.c))
LIBRARY_EXAMPLES := $(BUILD)/examples/read/read $(BUILD)/examples/live/live

examples: $(KERNELS:%=example-%) $(EXAMPLE_PROGRAMS) $(LIBRARY_EXAMPLES)

$(EXAMPLE_PROGRAMS): $(BUILD)/%: %.c
	mkdir -p $(@D)
	$(call step,LD)$(CC) $(CFLAGS) -o $@ $<

$(LIBRARY_EXAMPLES): $(BUILD)/%: %.c $(LIB) $(LIB_PUBLIC_HEADERS)
	mkdir -p $(@D)
	$(call step,LD)$(CC) $(CFLAGS) -Ilib/include -o $@ $< $(LIB) $(LIB_LIBS)

# build-against NAME SOURCE: build a module from the folder SOURCE, through links to its files.
build-against = release=$$(cat $(CACHE)/$(1)/release); tree=$(BUILD)/$$release/$(notdir $(2)); \
	mkdir -p $$tree && cp -fs $(CURDIR)/$(2)/* $$tree/ && \
	$(call kbuild,$(1),$$tree) KL_INCLUDE=$(CURDIR)/$(BUILD)/$$release/kernel/include \
		KBUILD_EXTRA_SYMBOLS=$(CURDIR)/$(BUILD)/$$release/kernel/Module.symvers && \
	cp $$tree/*.ko $(BUILD)/$$release/

example-%: module-%
	+$(call build-against,$*,examples/handler)

.PHONY: examples
