# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# $(BUILD)/kernlens-fleet: what talks to the servers of many machines, for `kernlens ship` and
# `kernlens fleet`. Only it links libnats and libcurl.

FLEET_SRCS := $(wildcard fleet/*.c)
FLEET_OBJS := $(FLEET_SRCS:%.c=$(BUILD)/%.o)
FLEET_LIBS := -lnats -lcurl -ljansson -lz -pthread

$(BUILD)/fleet/%.o: fleet/%.c
	mkdir -p $(@D)
	$(call step,CC)$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/kernlens-fleet: $(FLEET_OBJS)
	$(call step,LD)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(FLEET_OBJS) $(FLEET_LIBS)

-include $(FLEET_OBJS:.o=.d)
