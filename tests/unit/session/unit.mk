# SPDX-License-Identifier: GPL-2.0
#
# Tests of kernel/core in user space. Uses BUILD, CC, CFLAGS; adds to UNIT_TESTS.
#
#   session-delta       what readers know of the running task, under interrupts

SESSION_DELTA := $(BUILD)/tests/session-delta
UNIT_TESTS += $(SESSION_DELTA)

# Kernel headers that record.c includes; each is replaced by stub.h.
SESSION_STUBS := $(addprefix linux/,atomic bitops bug cpumask cred irq_work irqflags jump_label kref \
	ktime list log2 mm mutex percpu preempt rwsem sched sched/task string threads timekeeping \
	uidgid wait workqueue xarray) asm/msr asm/tsc compat/compat_config

$(SESSION_DELTA): tests/unit/session/delta.c $(RING_SOURCES) $(wildcard kernel/core/record*.c) \
		$(RING_HEADERS) $(wildcard kernel/core/*.h kernel/base/*.h) kernel/compat/clock.h \
		tests/unit/session/stub.h tests/unit/session/unit.mk
	mkdir -p $(addprefix $(@D)/session-stubs/,linux/sched asm compat)
	for header in $(SESSION_STUBS); do \
		echo '#include "$(CURDIR)/tests/unit/session/stub.h"' >$(@D)/session-stubs/$$header.h; \
	done
	$(call step,LD)$(CC) $(CFLAGS) -Wno-unused-parameter -fno-strict-aliasing \
		-DKL_RING_TEST_HOOK -I$(@D)/session-stubs \
		-o $@ tests/unit/session/delta.c $(RING_SOURCES)
