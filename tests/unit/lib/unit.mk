# SPDX-License-Identifier: GPL-2.0
#
# Unit tests of the library. Uses BUILD, CC, CFLAGS and lib/lib.mk; adds to
# UNIT_TESTS. Each is built twice, with -asan under the address and
# undefined-behavior sanitizers.
#
#   lib-schema   tables, metadata written, parsed and damaged, patterns, clock
#   lib-trace    directories written, read, damaged, and read by babeltrace 1 and 2
#   lib-manifest  what is missing after any damage, to the last record
#   lib-crash    what is extracted from the memory of a crashed machine, whole and damaged
#   lib-pack     compressed traces and packs: read, unpacked byte for byte, killed, full disk
#   lib-place    places in a trace, an index of it, search, and traces that change meanwhile
#   lib-pack_hostile  packs cut, changed, lying; expansion; columns of any contents
#   lib-variables  records with variables, round trip, damaged, by babeltrace2
#   lib-print    styles, symbolic names, reports
#   lib-filter   filters of recorded events
#   lib-strace   system calls, signals and exits as strace prints them
#   lib-profile  samples by function, object, task and CPU; trees of calls
#   lib-why      where the time of a task went: waits, chains, CPUs, doubts
#   lib-why_forget  what is explained is the same after timelines have forgotten what was before
#   lib-why_later  what is behind wakeups: interrupts, disks, packets, work items, system calls
#   lib-reports  waits for CPUs, states of tasks, histograms, with damage and bounds
#   lib-report_devices  the same for disks, interrupts, memory and the network
#   lib-clocks   how far clocks of machines are apart, from packets and adjtimex
#   lib-locks    waits for locks: pairs, owners, types, times, groups
#   lib-lock_use use of locks: what is held, faults, orders, times
#   lib-memory   sums and changes of pages, as runs
#   lib-growth   page faults and what gives memory back, by code
#   lib-tlv      tags, lengths and values of BER
#   lib-ber      files in BER written, read, cut and damaged
#   lib-maskset  masksets as text and files, each error with its position
#   lib-config   files in the configuration directory
#   lib-watch    rules of alarms: what they mean, each error with its position
#   lib-metrics  metrics as text, their bounds, labels, and counters that end
#   lib-http     addresses, tokens, and a server with hostile clients
#   lib-fleet    captures cut into messages and put together, hostile ones, spools after a kill
#   lib-set      requests to set parameters of a process, as text
#   lib-stack    stack traces as text, round trip, cut and damaged
#   lib-jit      maps of compiled code: read, growing, damaged, another's
#   lib-address  names of addresses, and they and stack traces in BER, damaged
#   lib-collect  stack traces whose files are found late, or never
#   lib-program  blocks of programs: syntax, files intact and damaged
#   lib-path     paths through functions: random graphs and walks
#   lib-edge     counts from the fewest counters, on the same
#   lib-hostile  hostile inputs: quadratic time, deep chains, pipes, views
#   lib-folder   traces written where another user has planted links and directories
#   lib-reader   live readers against kernel/ring
#   lib-record   directories of recordings, keys and buckets of rules
#   lib-bench    speed in events per second (not a test)

LIB_TEST_NAMES := config schema trace manifest crash pack pack_hostile place variables print strace profile why why_forget why_later reports report_devices clocks locks lock_use memory growth filter tlv ber maskset reader record stack collect jit address watch metrics http set program path \
	edge hostile folder fleet
LIB_TESTS := $(LIB_TEST_NAMES:%=$(BUILD)/tests/lib-%)
LIB_TESTS_ASAN := $(LIB_TESTS:%=%-asan)
UNIT_TESTS += $(LIB_TESTS) $(LIB_TESTS_ASAN)

LIB_TEST_HEADERS := $(wildcard tests/unit/lib/*.h lib/*/*.h kernel/ring/*.h) $(LIB_HEADERS) \
	tests/unit/unit.h
LIB_TEST_BUILD = mkdir -p $(@D); \
	$(call step,LD)$(CC) $(CFLAGS) $(LIB_INCLUDES) -Itests/unit -o $@ $(filter %.c,$^) $(filter %.a,$^) $(LIB_LIBS) -ljansson -pthread

$(foreach name,path edge,$(BUILD)/tests/lib-$(name) $(BUILD)/tests/lib-$(name)-asan): \
		tests/unit/lib/graph.c

$(foreach name,reports report_devices growth clocks,$(BUILD)/tests/lib-$(name) $(BUILD)/tests/lib-$(name)-asan): \
		tests/unit/lib/feed.c

$(foreach name,why why_forget why_later,$(BUILD)/tests/lib-$(name) $(BUILD)/tests/lib-$(name)-asan): \
		tests/unit/lib/why_feed.c

$(BUILD)/tests/lib-trace $(BUILD)/tests/lib-trace-asan: tests/unit/lib/babeltrace.c

$(foreach name,pack pack_hostile place,$(BUILD)/tests/lib-$(name) $(BUILD)/tests/lib-$(name)-asan): \
		tests/unit/lib/pack.c

$(BUILD)/tests/lib-crash $(BUILD)/tests/lib-crash-asan: tests/unit/lib/machine.c tests/unit/lib/crash_feed.c

# The module's ring itself writes what the library reads.
$(BUILD)/tests/lib-reader $(BUILD)/tests/lib-reader-asan: \
		tests/unit/lib/ring_writer.c kernel/ring/ring.c

# The server that the command links.
$(BUILD)/tests/lib-http $(BUILD)/tests/lib-http-asan: \
		view/http/access.c view/http/address.c view/http/http.c
$(BUILD)/tests/lib-http $(BUILD)/tests/lib-http-asan: private LIB_LIBS += -lmicrohttpd -lgnutls

# What of fleet needs no server.
$(BUILD)/tests/lib-fleet $(BUILD)/tests/lib-fleet-asan: \
		fleet/names.c fleet/manifest.c fleet/receive.c fleet/cut.c fleet/spool.c $(wildcard fleet/*.h)

# A program with known blocks.
$(BUILD)/tests/lib-program $(BUILD)/tests/lib-program-asan: | $(BUILD)/tests/cli/program-blocks
$(BUILD)/tests/lib-program $(BUILD)/tests/lib-program-asan: private CFLAGS += \
	-DKL_TEST_PROGRAM=\"$(abspath $(BUILD)/tests/cli/program-blocks)\"

$(LIB_TESTS) $(BUILD)/tests/lib-bench: $(BUILD)/tests/lib-%: \
		tests/unit/lib/test_%.c tests/unit/lib/synth.c $(LIB) $(LIB_TEST_HEADERS)
	$(LIB_TEST_BUILD)

# With the library built with sanitizers, too.
$(LIB_TESTS_ASAN): private CC = $(CHECKED_CC)
$(LIB_TESTS_ASAN): private CFLAGS += $(CHECKED_TEST_CFLAGS)
$(LIB_TESTS_ASAN): $(BUILD)/tests/lib-%-asan: \
		tests/unit/lib/test_%.c tests/unit/lib/synth.c $(LIB_CHECKED) $(LIB_TEST_HEADERS)
	$(LIB_TEST_BUILD)
