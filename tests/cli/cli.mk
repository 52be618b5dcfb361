# SPDX-License-Identifier: GPL-2.0
#
# What the command's tests bring along; included by the top Makefile.
#
#   cli-tests    $(BUILD)/tests/cli/ber-decode: a decoder of traces in BER,
#                made by asn1c from docs/format/kernlens.asn1
#                $(BUILD)/tests/cli/stack-chain: a program whose call chain is known

CLI_TESTS := $(BUILD)/tests/cli
CLI_TESTS_ASN1 := $(CLI_TESTS)/asn1

#                $(BUILD)/tests/cli/stack-names: a program in C++ with inlined
#                functions and debug information

#                $(BUILD)/tests/cli/program-blocks: threads that pass blocks a known
#                number of times; and -plain, without optimization, at fixed addresses

#                $(BUILD)/tests/cli/program-splice: a program and its library that look
#                whether what they do is right, with threads, children and signals

cli-tests: $(CLI_TESTS)/ber-decode $(CLI_TESTS)/stack-chain $(CLI_TESTS)/stack-names \
	$(CLI_TESTS)/program-blocks $(CLI_TESTS)/program-blocks-plain \
	$(CLI_TESTS)/program-splice $(CLI_TESTS)/program-throw

$(CLI_TESTS)/program-blocks: tests/cli/program_blocks.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Werror -fPIE -pie -pthread -o $@ $<

$(CLI_TESTS)/program-blocks-plain: tests/cli/program_blocks.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O0 -g -Wall -Wextra -Werror -fno-pie -no-pie -pthread -o $@ $<

$(CLI_TESTS)/libsplice.so: tests/cli/program_splice_library.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Werror -fPIC -shared -o $@ $<

# Its library is beside it, and calls back.
$(CLI_TESTS)/program-splice: tests/cli/program_splice.c $(CLI_TESTS)/libsplice.so
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -fPIE -pie -pthread -rdynamic \
		-o $@ $< -L$(CLI_TESTS) -lsplice '-Wl,-rpath,$$ORIGIN'

$(CLI_TESTS)/program-throw: tests/cli/program_throw.cc
	@mkdir -p $(@D)
	$(CXX) -std=gnu++17 -O2 -g -Wall -Wextra -Werror -o $@ $<

$(CLI_TESTS)/stack-names: tests/cli/stack_names.cc
	@mkdir -p $(@D)
	$(CXX) -std=gnu++17 -O1 -g -Wall -Wextra -Werror -fno-omit-frame-pointer \
		-mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls -o $@ $<

# As it is written: frames, and no call that is a jump.
$(CLI_TESTS)/stack-chain: tests/cli/stack_chain.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o $@ $<

# What asn1c writes is not ours: no warnings, and it is a system's header to what includes it.
$(CLI_TESTS_ASN1)/libasn1.a: docs/format/kernlens.asn1
	rm -rf $(@D) && mkdir -p $(@D)
	cd $(@D) && { asn1c -fwide-types -fcompound-names $(CURDIR)/$< >log 2>&1 || { cat log; exit 1; }; }
	rm $(@D)/converter-sample.c
	cd $(@D) && $(CC) $(OPT) -w -I. -c *.c && $(AR) rcs $(@F) *.o

$(CLI_TESTS)/ber-decode: tests/cli/ber_decode.c $(CLI_TESTS_ASN1)/libasn1.a
	$(CC) $(CFLAGS) -isystem $(CLI_TESTS_ASN1) -o $@ $^

.PHONY: cli-tests
