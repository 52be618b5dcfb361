// SPDX-License-Identifier: GPL-2.0
/*
 * read TRACE: print the events of a trace that `kernlens record -o TRACE` has written, in order of
 * time: when, on which CPU, by which task, the event and its fields. It shows how your own program
 * can use the library; after `make install`, build it with
 *
 *	cc -o read read.c $(pkg-config --cflags --libs kernlens)
 *
 * If the library is not in a folder where the linker and the loader look for it, set
 * PKG_CONFIG_PATH and LD_LIBRARY_PATH. To link libkernlens statically, so that the program also
 * runs where kernlens is not installed:
 *
 *	cc -o read read.c $(pkg-config --cflags kernlens) \
 *		$(pkg-config --static --libs kernlens | sed 's/-lkernlens/-l:libkernlens.a/')
 */
#include <inttypes.h>
#include <stdio.h>

#include <kernlens/kernlens.h>

/* Print one line. @text is scratch space for values. */
static void print_event(const struct kl_event *event, struct kl_buffer *text)
{
	const struct kl_class *about = event->event_class;

	printf("%" PRIu64 ".%09" PRIu64 " cpu %" PRIu32 " %s[%" PRId32 "] %s",
	       event->ns / 1000000000, event->ns % 1000000000, event->cpu, event->task.comm,
	       event->task.tid, about->name);
	for (unsigned int i = 0; i < about->n_fields; i++) {
		struct kl_value value = kl_event_value(event, i);

		kl_buffer_reset(text);
		kl_print_value(text, &value);
		printf(" %s=%.*s", value.field->name, (int)text->length, text->data);
	}
	putchar('\n');
}

/* A trace is a sequence of events and losses: what is missing is reported, too. */
static uint64_t print_items(struct kl_trace *trace)
{
	struct kl_buffer text = { NULL, 0, 0, 0 };
	struct kl_item item;
	uint64_t events = 0;

	while (kl_trace_next(trace, &item) > 0) {
		if (item.kind == KL_ITEM_EVENT) {
			print_event(item.event, &text);
			events++;
		} else {
			kl_buffer_reset(&text);
			kl_print_loss(&text, KL_STYLE_TEXT, 0, item.loss);
			fwrite(text.data, 1, text.length, stdout);
		}
	}
	kl_buffer_deinit(&text);
	return events;
}

int main(int argc, char **argv)
{
	struct kl_trace *trace;

	if (argc != 2) {
		fprintf(stderr, "usage: %s TRACE\n", argv[0]);
		return 2;
	}
	trace = kl_trace_open(argv[1]);
	if (!trace) {
		fprintf(stderr, "%s: %s\n", argv[0], kl_error_text());
		return 1;
	}
	printf("recorded on %s\n", kl_trace_about(trace)->hostname);
	printf("%" PRIu64 " events\n", print_items(trace));
	kl_trace_close(trace);
	return 0;
}
