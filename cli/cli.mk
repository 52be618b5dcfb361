# SPDX-License-Identifier: GPL-2.0
#
# The command: $(BUILD)/kernlens, with the library and the viewer linked in.

CLI_SRCS := $(wildcard cli/*.c cli/*/*.c)
CLI_OBJS := $(CLI_SRCS:%.c=$(BUILD)/%.o)

$(BUILD)/cli/%.o: cli/%.c
	mkdir -p $(@D)
	$(call step,CC)$(CC) $(CFLAGS) $(LIB_INCLUDES) -MMD -MP -c -o $@ $<

$(BUILD)/kernlens: $(CLI_OBJS) $(VIEW_OBJS) $(BUILD)/libkernlens.a
	$(call step,LD)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(CLI_OBJS) $(VIEW_OBJS) $(BUILD)/libkernlens.a $(LIB_LIBS) \
		$(VIEW_LIBS) -ljansson -lm -pthread

-include $(CLI_OBJS:.o=.d)
