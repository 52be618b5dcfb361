# SPDX-License-Identifier: GPL-2.0
#
# Modules that use what kernlens exports. Uses BUILD, CACHE, KERNELS and module-NAME.
#
#   examples         examples/handler for each kernel
#   example-NAME     the same for one, at build/RELEASE/kl_largest.ko
#
# A copy of links for each kernel, as for the module; its symbols are those of the kernlens.ko
# that was built last.

examples: $(KERNELS:%=example-%)

# build-against NAME SOURCE: a module of the folder SOURCE, whose files are copied.
build-against = release=$$(cat $(CACHE)/$(1)/release); tree=$(BUILD)/$$release/$(notdir $(2)); \
	mkdir -p $$tree && cp -fs $(CURDIR)/$(2)/* $$tree/ && \
	$(MAKE) --no-print-directory -C $$(realpath $(CACHE)/$(1)/headers) M=$(CURDIR)/$$tree \
		KL_INCLUDE=$(CURDIR)/$(BUILD)/$$release/kernel/include \
		KBUILD_EXTRA_SYMBOLS=$(CURDIR)/$(BUILD)/$$release/kernel/Module.symvers modules && \
	cp $$tree/*.ko $(BUILD)/$$release/

example-%: module-%
	+@$(call build-against,$*,examples/handler)

.PHONY: examples
