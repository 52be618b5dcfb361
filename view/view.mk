# SPDX-License-Identifier: GPL-2.0
#
# The full-screen views and the page, part of the command: objects that cli/cli.mk links, and the libraries that
# they need.

VIEW_SRCS := $(wildcard view/*/*.c)
VIEW_OBJS := $(VIEW_SRCS:%.c=$(BUILD)/%.o)
VIEW_LIBS := -lncursesw -ltinfo -lmicrohttpd -lgnutls

$(BUILD)/view/%.o: view/%.c
	mkdir -p $(@D)
	$(call step,CC)$(CC) $(CFLAGS) $(LIB_INCLUDES) -MMD -MP -c -o $@ $<

# The files of the pages are part of them.
$(addprefix $(BUILD)/view/page/,page.o graph.o plot.o memory.o data_page.o): $(wildcard view/page/*.css view/page/*.html view/page/*.js)

-include $(VIEW_OBJS:.o=.d)
