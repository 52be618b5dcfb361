# SPDX-License-Identifier: GPL-2.0
#
#   crash-tests     what tests/crash/run needs besides the module and the command

crash-tests: $(KERNELS:%=crash-%)

crash-%: $(CACHE)/%/release
	+release=$$(cat $<); tree=$(BUILD)/$$release/crash; mkdir -p $$tree && \
	cp -fs $(CURDIR)/tests/crash/module/* $$tree/ && \
	$(call kbuild,$*,$$tree) && cp $$tree/kl_crash.ko $(BUILD)/$$release/

.PHONY: crash-tests
