# SPDX-License-Identifier: GPL-2.0
#
# The kernel-side tests. Uses BUILD, CACHE, KERNELS, CC, CFLAGS.
#
#   kernel-tests     the test modules for each kernel, and the programs
#   stimulus-NAME    modules for one kernel, at build/RELEASE/: kl_stimulus.ko, kl_awake.ko, kl_places.ko, kl_passed.ko, kl_pfnmap.ko,
#                    kl_locking.ko
#   program-NAME     kl_program.ko for one kernel, built with the module's own program code
#   extern-NAME      kl_extern.ko for one kernel: handlers of another module
#   target-NAME      a second instance of the module, of another name, so that the first can count its
#                    blocks: build/RELEASE/target/kernlens_target.ko, and its kl_extern.ko
#   preempt-NAME     kernlens.ko whose probes are called with preemption enabled, at
#                    build/RELEASE/preempt/kernlens.ko
#
#   core-tests       what tests/kernels/run needs for each of CORE_KERNELS
#
# tests/kernel/run runs them in virtual machines. The two variants of the module are built for the
# kernels in VARIANTS.

# A test is a file, or a folder of files.
KERNEL_TEST_FOLDERS := accounting adversaries details exits faults fuzz hostile latency limits users
KERNEL_TEST_FILES := access awaited budget cgroup control counters defined gate handlers hold lifecycle \
	moment places programs soak stacks stuck throttled traps unwind unwind_costs usdt variables
KERNEL_TESTS := $(addprefix $(BUILD)/tests/kernel-,$(KERNEL_TEST_FOLDERS) $(KERNEL_TEST_FILES))
KERNEL_TEST_HEADERS := $(wildcard tests/kernel/*.h tests/kernel/stimulus/*.h) \
	tests/unit/file.h tests/unit/failing.h $(wildcard uapi/*)

# The first one without checkers.
VARIANTS ?= $(firstword $(foreach kernel,$(KERNELS),$(if $(findstring -,$(kernel)),,$(kernel))))

kernel-tests: $(KERNELS:%=stimulus-%) $(KERNELS:%=program-%) $(KERNELS:%=extern-%) \
		$(VARIANTS:%=target-%) $(VARIANTS:%=preempt-%) examples $(KERNEL_TESTS)

core-tests: library command $(KERNEL_TESTS) $(foreach kernel,$(CORE_KERNELS),\
		$(addsuffix -$(kernel),module stimulus program extern example))

$(KERNEL_TEST_FILES:%=$(BUILD)/tests/kernel-%): $(BUILD)/tests/kernel-%: tests/kernel/%.c
$(foreach folder,$(KERNEL_TEST_FOLDERS),$(eval $(BUILD)/tests/kernel-$(folder): \
	$(wildcard tests/kernel/$(folder)/*.[ch] tests/kernel/$(folder)/*.def)))

# What several tests share.
$(addprefix $(BUILD)/tests/kernel-,access handlers hold limits users): tests/kernel/workload.c
$(BUILD)/tests/kernel-exits: tests/kernel/latency/profile.c tests/kernel/latency/latency.h
$(BUILD)/tests/kernel-hold $(BUILD)/tests/kernel-throttled: tests/kernel/limits/limits.h

# User stacks of sessions without unwind tables follow frame pointers. Without these, a register that
# points to the length of a sleep makes sleeps of two lengths two traces.
$(BUILD)/tests/kernel-latency: KERNEL_TEST_FLAGS := -fno-omit-frame-pointer

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
	cp $$tree/kl_{stimulus,awake,places,passed,pfnmap,locking}.ko $(BUILD)/$$release/

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

# variant NAME, FOLDER, OBJECTS, SETTINGS: builds the module for NAME again in build/RELEASE/FOLDER,
# with settings that only these OBJECTS depend on. The other objects are linked from those that kbuild
# has listed in kernlens.mod.
variant = release=$$(cat $(CACHE)/$(1)/release); built=$(CURDIR)/$(BUILD)/$$release/kernel; \
	tree=$(BUILD)/$$release/$(2); mkdir -p $$tree && find $$tree -type l -delete && \
	cp -rs $(CURDIR)/kernel $(CURDIR)/uapi $$tree/ && own="$(3)" && \
	sed "s|^\./||; s|^$$built/||" $$built/kernlens.mod | grep -vxF -f <(printf '%s\n' $$own) | \
		(cd $$built && xargs $(LD) -m elf_x86_64 -r -z noexecstack -o $(CURDIR)/$$tree/kernel/built.linked) && \
	$(call kbuild,$(1),$$tree/kernel) KL_BUILT=$$built KL_OWN="$$own" \
		KL_SCHEMA_HASH=$(SCHEMA_HASH) KL_VERSION=$(VERSION) $(4) && \
	cp $$tree/kernel/*.ko $$tree/

# These have the module's name, or that of an exported function.
target-%: module-%
	+$(call variant,$*,target,device/device.o device/proc.o handler/external.o,KL_MODULE=kernlens_target)
	+release=$$(cat $(CACHE)/$*/release); tree=$(BUILD)/$$release/target/extern; mkdir -p $$tree && \
	cp -fs $(CURDIR)/tests/kernel/extern/* $$tree/ && \
	$(call kbuild,$*,$$tree) KL_INCLUDE=$(CURDIR)/$(BUILD)/$$release/kernel/include \
		KL_TARGET=kernlens_target \
		KBUILD_EXTRA_SYMBOLS=$(CURDIR)/$(BUILD)/$$release/target/kernel/Module.symvers && \
	cp $$tree/kl_extern.ko $(BUILD)/$$release/target/

# What includes compat/preempt.h, found where kbuild notes the headers of each object.
preempt-%: module-%
	+$(call variant,$*,preempt,$$(cd $$built && grep -rl --include='.*.o.cmd' compat/preempt.h . | sed -E 's|^\./(.*/)?\.(.*)\.cmd$$|\1\2|' | xargs),\
		KL_CCFLAGS=-DKL_PROBES_PREEMPTIBLE=2)

.PHONY: kernel-tests core-tests
