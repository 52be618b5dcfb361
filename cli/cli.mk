# SPDX-License-Identifier: GPL-2.0
#
# The command: $(BUILD)/kernlens, with the library linked in.

CLI_SRCS := $(wildcard cli/*.c)
CLI_OBJS := $(CLI_SRCS:%.c=$(BUILD)/%.o)

$(BUILD)/cli/%.o: cli/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Ilib/include -MMD -MP -c -o $@ $<

$(BUILD)/kernlens: $(CLI_OBJS) $(BUILD)/libkernlens.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(CLI_OBJS) $(BUILD)/libkernlens.a $(LIB_LIBS) -ljansson -pthread

-include $(CLI_OBJS:.o=.d)
