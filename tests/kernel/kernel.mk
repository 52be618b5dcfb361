# SPDX-License-Identifier: GPL-2.0
#
# The kernel-side tests. Uses BUILD, CACHE, KERNELS, CC, CFLAGS.
#
#   kernel-tests     the test modules for each kernel, and the programs
#   stimulus-NAME    modules for one kernel, at build/RELEASE/: kl_stimulus.ko, kl_awake.ko, kl_places.ko, kl_passed.ko, kl_pfnmap.ko
#   program-NAME     kl_program.ko for one kernel, built with the module's own program code
#   extern-NAME      kl_extern.ko for one kernel: handlers of another module
#   target-extern-NAME  the second instance of the module, and its kl_extern.ko
#   preempt-NAME     kernlens.ko whose probes are called with preemption enabled, at
#                    build/RELEASE/preempt/kernlens.ko
#
#   core-tests       what tests/kernels/run needs for each of CORE_KERNELS
#
# tests/kernel/run runs them in virtual machines. The two before the last, which compile the module again, are
# for the kernels in VARIANTS.

# A test is a file, or a folder of files.
KERNEL_TEST_FOLDERS := accounting adversaries details exits faults fuzz hostile latency limits users
KERNEL_TEST_FILES := access awaited budget cgroup control counters defined gate handlers hold lifecycle \
	moment programs soak stacks stuck throttled traps unwind unwind_costs usdt variables
KERNEL_TESTS := $(addprefix $(BUILD)/tests/kernel-,$(KERNEL_TEST_FOLDERS) $(KERNEL_TEST_FILES))
KERNEL_TEST_HEADERS := $(wildcard tests/kernel/*.h tests/kernel/stimulus/*.h) \
	tests/unit/file.h tests/unit/failing.h uapi/kernlens.h $(wildcard uapi/*.def)

# The first one without checkers.
VARIANTS ?= $(firstword $(foreach kernel,$(KERNELS),$(if $(findstring -,$(kernel)),,$(kernel))))

kernel-tests: $(KERNELS:%=stimulus-%) $(KERNELS:%=program-%) $(KERNELS:%=extern-%) \
		$(VARIANTS:%=target-extern-%) $(VARIANTS:%=preempt-%) examples $(KERNEL_TESTS)

core-tests: library command $(KERNEL_TESTS) $(foreach kernel,$(CORE_KERNELS),\
		$(addsuffix -$(kernel),module stimulus program extern example))

$(KERNEL_TEST_FILES:%=$(BUILD)/tests/kernel-%): $(BUILD)/tests/kernel-%: tests/kernel/%.c
$(foreach folder,$(KERNEL_TEST_FOLDERS),$(eval $(BUILD)/tests/kernel-$(folder): \
	$(wildcard tests/kernel/$(folder)/*.[ch] tests/kernel/$(folder)/*.def)))

# What several tests share.
$(addprefix $(BUILD)/tests/kernel-,access handlers hold limits users): tests/kernel/workload.c
$(BUILD)/tests/kernel-exits: tests/kernel/latency/profile.c tests/kernel/latency/latency.h
$(BUILD)/tests/kernel-hold $(BUILD)/tests/kernel-throttled: tests/kernel/limits/limits.h

# These use the library, which decodes what they read.
$(addprefix $(BUILD)/tests/kernel-,details exits fuzz soak): $(LIB)
$(addprefix $(BUILD)/tests/kernel-,details exits fuzz soak): KERNEL_TEST_FLAGS := $(LIB_INCLUDES)
$(addprefix $(BUILD)/tests/kernel-,details exits fuzz soak): KERNEL_TEST_LIBS := $(LIB_LIBS)

$(KERNEL_TESTS): $(KERNEL_TEST_HEADERS)
	mkdir -p $(@D)
	$(call step,LD)$(CC) $(CFLAGS) $(KERNEL_TEST_FLAGS) -Iuapi -o $@ $(filter %.c %.a,$^) $(KERNEL_TEST_LIBS) -pthread

stimulus-%: module-%
	+release=$$(cat $(CACHE)/$*/release); tree=$(BUILD)/$$release/stimulus; mkdir -p $$tree; \
	cp -fs $(CURDIR)/tests/kernel/stimulus/* $$tree/ && \
	$(call kbuild,$*,$$tree) KL_COMPAT=$(CURDIR)/$(BUILD)/$$release/kernel/compat && \
	cp $$tree/kl_{stimulus,awake,places,passed,pfnmap}.ko $(BUILD)/$$release/

program-%: $(CACHE)/%/release module-%
	+release=$$(cat $<); tree=$(BUILD)/$$release/program; \
	mkdir -p $$tree/kernel/{compat,ring,core}; \
	find $$tree -type l -delete; \
	cp -fs $(CURDIR)/tests/kernel/program/* $$tree/ && cp -rs $(CURDIR)/uapi $$tree/ && \
	cp -fs $(CURDIR)/kernel/core/program* $(CURDIR)/kernel/core/variable.h \
		$$tree/kernel/core/ && \
	cp -fs $(CURDIR)/kernel/compat/nofault.h $$tree/kernel/compat/ && \
	cp -fs $(CURDIR)/kernel/ring/platform.h $$tree/kernel/ring/ && \
	$(call kbuild,$*,$$tree) && \
	cp $$tree/kl_program.ko $(BUILD)/$$release/kl_program.ko

extern-%: module-%
	+$(call build-against,$*,tests/kernel/extern)

# kl_extern.ko for the second instance, whose functions have other names, at build/RELEASE/target/.
target-extern-%: target-%
	+release=$$(cat $(CACHE)/$*/release); tree=$(BUILD)/$$release/target/extern; mkdir -p $$tree && \
	cp -fs $(CURDIR)/tests/kernel/extern/* $$tree/ && \
	$(call kbuild,$*,$$tree) KL_INCLUDE=$(CURDIR)/$(BUILD)/$$release/kernel/include \
		KL_TARGET=kernlens_target \
		KBUILD_EXTRA_SYMBOLS=$(CURDIR)/$(BUILD)/$$release/target/kernel/Module.symvers && \
	cp $$tree/kl_extern.ko $(BUILD)/$$release/target/

# A separate build tree, in which everything is compiled again.
preempt-%: $(CACHE)/%/release
	+release=$$(cat $<); $(MAKE) --no-print-directory BUILD=$(BUILD)/preempt \
		KL_CCFLAGS='-g0 -DKL_PROBES_PREEMPTIBLE=2' module-$* && \
	mkdir -p $(BUILD)/$$release/preempt && \
	cp $(BUILD)/preempt/$$release/kernlens.ko $(BUILD)/$$release/preempt/

.PHONY: kernel-tests core-tests
