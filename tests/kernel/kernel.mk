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
# tests/kernel/run runs them in virtual machines.

KERNEL_TESTS := $(addprefix $(BUILD)/tests/kernel-,accounting variables users lifecycle \
	faults programs defined traps soak handlers access control stacks latency \
	details exits counters fuzz limits hold throttled stuck hostile moment gate awaited budget \
	adversaries)
KERNEL_TEST_HEADERS := $(wildcard tests/kernel/*.h tests/kernel/stimulus/*.h) \
	tests/unit/file.h tests/unit/failing.h uapi/kernlens.h $(wildcard uapi/*.def)

kernel-tests: $(KERNELS:%=stimulus-%) $(KERNELS:%=program-%) $(KERNELS:%=extern-%) \
		$(KERNELS:%=target-extern-%) $(KERNELS:%=preempt-%) examples $(KERNEL_TESTS)

$(BUILD)/tests/kernel-%: tests/kernel/%.c $(KERNEL_TEST_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Iuapi -o $@ $(filter %.c,$^) -pthread

# This test uses the library, which decodes what it reads.
$(BUILD)/tests/kernel-soak: tests/kernel/soak.c $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LIB_INCLUDES) -o $@ $^ $(LIB_LIBS) -pthread

# So do these tests, which consist of several files.
$(BUILD)/tests/kernel-details: $(wildcard tests/kernel/details*.c) tests/kernel/details.h \
		$(KERNEL_TEST_HEADERS) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LIB_INCLUDES) -Iuapi -o $@ $(filter %.c %.a,$^) $(LIB_LIBS) -pthread

$(BUILD)/tests/kernel-exits: tests/kernel/exits.c tests/kernel/exits_read.c tests/kernel/latency_profile.c \
		tests/kernel/exits.h tests/kernel/latency.h $(KERNEL_TEST_HEADERS) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LIB_INCLUDES) -Iuapi -o $@ $(filter %.c %.a,$^) $(LIB_LIBS) -pthread

# The fuzzer, in its own folder.
$(BUILD)/tests/kernel-fuzz: $(wildcard tests/kernel/fuzz/*.[ch] tests/kernel/fuzz/*.def) \
		$(KERNEL_TEST_HEADERS) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LIB_INCLUDES) -Iuapi -o $@ $(filter %.c %.a,$^) $(LIB_LIBS) -pthread

# Further files of tests whose first file is named like the program.
$(BUILD)/tests/kernel-accounting: tests/kernel/check_stream.c
$(BUILD)/tests/kernel-faults: tests/kernel/faults_define.c
$(BUILD)/tests/kernel-limits: tests/kernel/limits_memory.c tests/kernel/limits_others.c
$(BUILD)/tests/kernel-users: tests/kernel/users_flags.c
$(BUILD)/tests/kernel-latency: tests/kernel/latency_profile.c tests/kernel/latency_wakers.c \
		tests/kernel/latency_io.c
$(BUILD)/tests/kernel-hostile: tests/kernel/hostile_time.c tests/kernel/hostile_race.c \
		tests/kernel/hostile.h
$(BUILD)/tests/kernel-adversaries: tests/kernel/adversaries_check.c tests/kernel/adversaries_plant.c \
		tests/kernel/adversaries_work.c tests/kernel/adversaries.h
$(BUILD)/tests/kernel-users $(BUILD)/tests/kernel-handlers $(BUILD)/tests/kernel-access $(BUILD)/tests/kernel-limits $(BUILD)/tests/kernel-hold: \
		tests/kernel/workload.c

stimulus-%: $(CACHE)/%/release
	@release=$$(cat $<); tree=$(BUILD)/$$release/stimulus; mkdir -p $$tree; \
	cp -fs $(CURDIR)/tests/kernel/stimulus/* $$tree/ && \
	$(MAKE) --no-print-directory -C $$(realpath $(CACHE)/$*/headers) \
		M=$(CURDIR)/$$tree $(NO_BTF) modules && \
	cp $$tree/kl_{stimulus,awake,places,passed,pfnmap}.ko $(BUILD)/$$release/

program-%: $(CACHE)/%/release module-%
	@release=$$(cat $<); tree=$(BUILD)/$$release/program; \
	mkdir -p $$tree/kernel/{compat,ring,core}; \
	find $$tree -type l -delete; \
	cp -fs $(CURDIR)/tests/kernel/program/* $$tree/ && cp -rs $(CURDIR)/uapi $$tree/ && \
	cp -fs $(CURDIR)/kernel/core/program* $(CURDIR)/kernel/core/variable.h \
		$$tree/kernel/core/ && \
	cp -fs $(CURDIR)/kernel/compat/nofault.h $$tree/kernel/compat/ && \
	cp -fs $(CURDIR)/kernel/ring/platform.h $$tree/kernel/ring/ && \
	$(MAKE) --no-print-directory -C $$(realpath $(CACHE)/$*/headers) \
		M=$(CURDIR)/$$tree $(NO_BTF) modules && \
	cp $$tree/kl_program.ko $(BUILD)/$$release/kl_program.ko

extern-%: module-%
	+@$(call build-against,$*,tests/kernel/extern)

# kl_extern.ko for the second instance, whose functions have other names, at build/RELEASE/target/.
target-extern-%: target-%
	+@release=$$(cat $(CACHE)/$*/release); tree=$(BUILD)/$$release/target/extern; mkdir -p $$tree && \
	cp -fs $(CURDIR)/tests/kernel/extern/* $$tree/ && \
	$(MAKE) --no-print-directory -C $$(realpath $(CACHE)/$*/headers) M=$(CURDIR)/$$tree \
		KL_INCLUDE=$(CURDIR)/$(BUILD)/$$release/kernel/include KL_TARGET=kernlens_target \
		KBUILD_EXTRA_SYMBOLS=$(CURDIR)/$(BUILD)/$$release/target/kernel/Module.symvers \
		$(NO_BTF) modules && \
	cp $$tree/kl_extern.ko $(BUILD)/$$release/target/

# A separate build tree, in which everything is compiled again.
preempt-%: $(CACHE)/%/release
	+@release=$$(cat $<); $(MAKE) --no-print-directory BUILD=$(BUILD)/preempt \
		KL_CCFLAGS='-g0 -DKL_PROBES_PREEMPTIBLE=2' module-$* && \
	mkdir -p $(BUILD)/$$release/preempt && \
	cp $(BUILD)/preempt/$$release/kernlens.ko $(BUILD)/$$release/preempt/

.PHONY: kernel-tests
