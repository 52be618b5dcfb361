// SPDX-License-Identifier: GPL-2.0
/*
 * Prints system calls, signals and exits as strace -f does. One line is open at a time, that of the
 * last entry; it is printed when the call returns, or, with "<unfinished ...>", before any other
 * output, and then the call's return gets a line of its own. call.c prints the arguments.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <kernlens/format.h>
#include <kernlens/strace.h>
#include "../../base/base.h"
#include "../../base/table.h"
#include "printers.h"

/* Column of the result, counted from the start of the line. */
#define RESULT_COLUMN 40
#define PENDING_MAX 8
/* Memory of calls whose entries and exits are missing is forgotten. */
#define MEMORY_MAX 65536
/* result of signal_generate: the signal is ignored */
#define SIGNAL_IGNORED 1

struct signal {
	int32_t sig, error, code;
	uint64_t words[4];
};

/**
 * struct state - what is known of a thread
 * @call: that it is in, or has been in
 * @since_ns: when it entered the call
 * @inside: it is in the call
 * @collecting: memory of its next call, which has the number @next, has arrived
 * @begun: a line has been printed for the entry
 * @interrupted: name of the call that restart_syscall continues
 * @pending: ignored signals that were sent to it while it was inside
 * @sent: the last other signal that was sent to it, until it is delivered
 */
struct state {
	struct kl_call call;
	uint64_t since_ns;
	int16_t number;
	int16_t next;
	bool inside;
	bool collecting;
	bool begun;
	const char *interrupted;
	unsigned int n_pending;
	struct signal pending[PENDING_MAX];
	struct signal sent;
};

/* Key: tid + 1. */
struct thread {
	uint64_t key;
	struct state *state;
};

struct kl_strace {
	unsigned int flags;
	struct kl_hash threads;
	struct state *open; /* whose entry is the open line, or NULL */
	struct kl_event entry; /* time and task of the open line */
	bool has_calls;
	bool has_memory;
};

struct kl_strace *kl_strace_create(unsigned int flags)
{
	struct kl_strace *strace = calloc(1, sizeof(*strace));

	if (!strace) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	strace->flags = flags;
	strace->threads.size = sizeof(struct thread);
	return strace;
}

static void destroy_state(struct state *state)
{
	if (!state)
		return;
	kl_buffer_deinit(&state->call.texts);
	kl_buffer_deinit(&state->call.pieces);
	kl_buffer_deinit(&state->call.aux);
	free(state);
}

void kl_strace_destroy(struct kl_strace *strace)
{
	struct thread *thread = NULL;

	if (!strace)
		return;
	while ((thread = kl_hash_next(&strace->threads, thread)))
		destroy_state(thread->state);
	kl_hash_deinit(&strace->threads);
	free(strace);
}

bool kl_strace_lacks_memory(const struct kl_strace *strace)
{
	return strace->has_calls && !strace->has_memory;
}

static struct state *state_of(struct kl_strace *strace, int32_t tid)
{
	struct thread *thread = kl_hash_get(&strace->threads, (uint64_t)(uint32_t)tid + 1);

	if (!thread)
		return NULL;
	if (!thread->state)
		thread->state = calloc(1, sizeof(*thread->state));
	if (!thread->state)
		kl_fail(ENOMEM, "out of memory");
	return thread->state;
}

/* ---------------------------------------------------------------- lines */

static void print_prefix(const struct kl_strace *strace, struct kl_buffer *buffer,
			 const struct kl_event *event, int32_t tid)
{
	uint64_t ns = strace->flags & KL_STRACE_RELATIVE ? event->since_ns : event->ns;

	if (strace->flags & KL_STRACE_TIMES)
		kl_buffer_printf(buffer, "[%llu.%09llu] ", (unsigned long long)ns / KL_NS_PER_S,
				 (unsigned long long)ns % KL_NS_PER_S);
	kl_buffer_printf(buffer, "%-5d ", tid);
}

static const char *call_name(const struct kl_event *event)
{
	return event->event_class->name + (event->event_class->kind == KL_CLASS_SYSCALL_ENTRY ?
						   strlen("syscall_entry_") :
						   strlen("syscall_exit_"));
}

static void print_entry(struct kl_strace *strace, struct kl_buffer *buffer, struct state *state)
{
	print_prefix(strace, buffer, &strace->entry, strace->entry.task.tid);
	kl_buffer_printf(buffer, "%s(", state->call.name);
	state->call.out = buffer;
	state->call.leaving = false;
	kl_call_print(&state->call);
	state->begun = true;
}

/* Close the open line before other output. */
static void leave_unfinished(struct kl_strace *strace, struct kl_buffer *buffer)
{
	if (!strace->open)
		return;
	print_entry(strace, buffer, strace->open);
	kl_buffer_add_string(buffer, " <unfinished ...>\n");
	strace->open = NULL;
}

/* Begin the line of a return: the rest of the open line, or one of its own. */
static size_t begin_return(struct kl_strace *strace, struct kl_buffer *buffer,
			   const struct kl_event *event, struct state *state, const char *name)
{
	bool is_open = strace->open && strace->open == state;
	size_t start;

	if (!is_open)
		leave_unfinished(strace, buffer);
	start = buffer->length;
	if (is_open) {
		print_entry(strace, buffer, state);
	} else {
		print_prefix(strace, buffer, event, event->task.tid);
		kl_buffer_printf(buffer, "<... %s resumed>", name);
	}
	strace->open = NULL;
	return start;
}

static void add_column(struct kl_buffer *buffer, size_t start)
{
	kl_buffer_add_string(buffer, ") ");
	while (!buffer->error && buffer->length - start < RESULT_COLUMN)
		kl_buffer_add_char(buffer, ' ');
}

static void end_line(struct kl_buffer *buffer, const struct kl_event *event,
		     const struct state *state)
{
	uint64_t ns = event->ns - state->since_ns;

	if (state->inside)
		kl_buffer_printf(buffer, " <%llu.%06llu>", (unsigned long long)ns / KL_NS_PER_S,
				 (unsigned long long)ns % KL_NS_PER_S / 1000);
	kl_buffer_add_char(buffer, '\n');
}

/* -------------------------------------------------------------- signals */

static void print_signal(struct kl_strace *strace, struct kl_buffer *buffer,
			 const struct kl_event *event, int32_t tid, const struct signal *s)
{
	leave_unfinished(strace, buffer);
	print_prefix(strace, buffer, event, tid);
	kl_buffer_add_string(buffer, "--- ");
	kl_put_signal(buffer, s->sig);
	kl_buffer_add_char(buffer, ' ');
	kl_put_siginfo(buffer, s->sig, s->error, s->code, s->words);
	kl_buffer_add_string(buffer, " ---\n");
}

static void print_pending(struct kl_strace *strace, struct kl_buffer *buffer,
			  const struct kl_event *event, struct state *state)
{
	for (unsigned int i = 0; i < state->n_pending; i++)
		print_signal(strace, buffer, event, event->task.tid, &state->pending[i]);
	state->n_pending = 0;
}

static uint64_t number_of(const struct kl_event *event, const char *field)
{
	struct kl_value value;

	return kl_event_field(event, field, &value) ? 0 : value.number;
}

static void get_signal(const struct kl_event *event, struct signal *s)
{
	char word[] = "info0";

	*s = (struct signal){ .sig = number_of(event, "sig"),
			      .error = number_of(event, "error"),
			      .code = number_of(event, "code") };
	for (unsigned int i = 0; i < 4; i++) {
		word[strlen("info")] = (char)('0' + i);
		s->words[i] = number_of(event, word);
	}
}

static int add_signal(struct kl_strace *strace, struct kl_buffer *buffer,
		      const struct kl_event *event)
{
	struct state *state = state_of(strace, event->task.tid);
	struct signal s;

	if (!state)
		return -ENOMEM;
	get_signal(event, &s);
	if (s.sig == state->sent.sig)
		state->sent.sig = 0;
	/* strace does not see it either, only the end that it brings. */
	if (s.sig != SIGKILL)
		print_signal(strace, buffer, event, event->task.tid, &s);
	return buffer->error;
}

/*
 * A signal that ends a process is not delivered: the kernel ends the process as soon as the signal
 * is sent. strace, for which the process stops first, sees it.
 *
 * A traced process gets even those signals that it ignores, and strace prints them. Without strace,
 * the kernel discards them when they are sent: they are printed where they would have arrived.
 */
static int add_sent_signal(struct kl_strace *strace, struct kl_buffer *buffer,
			   const struct kl_event *event)
{
	int32_t tid = number_of(event, "pid");
	struct thread *thread;
	struct state *state;
	struct signal s;

	if (!tid)
		return 0;
	thread = kl_hash_get(&strace->threads, (uint64_t)(uint32_t)tid + 1);
	if (!thread)
		return -ENOMEM;
	state = thread->state;
	if (!state)
		return 0;
	get_signal(event, &s);
	if (number_of(event, "result") != SIGNAL_IGNORED) {
		state->sent = s;
		return 0;
	}
	if (!state->inside) {
		print_signal(strace, buffer, event, tid, &s);
		return buffer->error;
	}
	for (unsigned int i = 0; i < state->n_pending; i++)
		if (state->pending[i].sig == s.sig)
			return 0;
	if (state->n_pending < PENDING_MAX)
		state->pending[state->n_pending++] = s;
	return 0;
}

/* ---------------------------------------------------------------- calls */

static void forget_memory(struct state *state)
{
	kl_buffer_reset(&state->call.pieces);
	state->collecting = false;
}

static int add_memory(struct kl_strace *strace, const struct kl_event *event, bool is_list)
{
	struct state *state = state_of(strace, event->task.tid);
	uint64_t when = number_of(event, "when"), address = number_of(event, "addr");
	bool is_exit = when == KL_MEMORY_AT_EXIT;
	struct kl_value data;

	if (!state)
		return -ENOMEM;
	strace->has_memory = true;
	if (state->call.pieces.length > MEMORY_MAX ||
	    (when == KL_MEMORY_AT_ENTRY &&
	     !(state->collecting && state->next == (int16_t)number_of(event, "nr"))))
		forget_memory(state);
	state->collecting = when == KL_MEMORY_AT_ENTRY;
	state->next = (int16_t)number_of(event, "nr");
	if (is_list)
		kl_call_add_list(&state->call, address, is_exit, number_of(event, "entries"),
				 number_of(event, "more"));
	else if (!kl_event_field(event, "data", &data))
		kl_call_add_memory(&state->call, address, is_exit, data.bytes, data.length);
	return state->call.pieces.error;
}

static void set_text(struct kl_call *c, unsigned int i, const uint8_t *bytes, uint32_t length)
{
	c->text[i] =
		(struct kl_call_text){ .is_there = true, .at = c->texts.length, .length = length };
	kl_buffer_add(&c->texts, bytes, length);
}

static void set_arguments(struct kl_call *c, const struct kl_event *event)
{
	kl_buffer_reset(&c->texts);
	kl_buffer_reset(&c->aux);
	memset(c->text, 0, sizeof(c->text));
	memset(c->arg, 0, sizeof(c->arg));
	c->is_hex = false;
	kl_call_set_name(c, call_name(event));
	c->event_class = event->event_class;
	c->n_args = event->event_class->n_fields;
	if (c->n_args > KL_CALL_ARGUMENTS_MAX)
		c->n_args = KL_CALL_ARGUMENTS_MAX;
	for (unsigned int i = 0; i < c->n_args; i++) {
		struct kl_value value = kl_event_value(event, i);

		c->arg[i] = value.number;
		if (value.field->type == KL_TYPE_STRING)
			set_text(c, i, value.bytes, value.length);
	}
}

/* A call whose return is not recorded, or which does not return: print all of it now. */
static void print_at_once(struct kl_strace *strace, struct kl_buffer *buffer,
			  const struct kl_event *event, struct state *state, bool is_known)
{
	size_t start = buffer->length;

	print_entry(strace, buffer, state);
	add_column(buffer, start);
	if (is_known)
		kl_call_print_result(&state->call);
	else
		kl_buffer_add_string(buffer, "= ?");
	state->inside = false;
	end_line(buffer, event, state);
	strace->open = NULL;
}

/* The frame has the register of results and the signal mask, in this order. */
static void print_sigreturn(struct kl_strace *strace, struct kl_buffer *buffer,
			    const struct kl_event *event, struct state *state)
{
	uint64_t result = 0;
	bool known = kl_call_word(&state->call, 0, &result) &&
		     kl_call_word(&state->call, 1, &state->call.arg[0]);

	state->call.result = (int64_t)result;
	print_at_once(strace, buffer, event, state, known);
}

/* Not in traces that have the exits of threads. */
static bool never_returns(const struct kl_strace *strace, const struct state *state)
{
	const struct kl_call_row *row = state->call.row;

	return !strace->has_memory && row && row->result == KL_RESULT_NONE;
}

static int add_entry(struct kl_strace *strace, struct kl_buffer *buffer,
		     const struct kl_event *event)
{
	struct state *state = state_of(strace, event->task.tid);

	if (!state)
		return -ENOMEM;
	leave_unfinished(strace, buffer);
	print_pending(strace, buffer, event, state);
	if (!state->collecting)
		forget_memory(state);
	state->collecting = false;
	strace->has_calls = true;
	strace->entry = *event;
	strace->open = state;
	set_arguments(&state->call, event);
	state->call.has_memory = strace->has_memory;
	state->inside = true;
	state->begun = false;
	state->since_ns = event->ns;
	state->number = event->event_class->syscall;
	if (!strcmp(state->call.name, "restart_syscall") && state->interrupted)
		set_text(&state->call, 0, (const uint8_t *)state->interrupted,
			 strlen(state->interrupted));
	if (!strcmp(state->call.name, "rt_sigreturn"))
		print_sigreturn(strace, buffer, event, state);
	else if (never_returns(strace, state))
		print_at_once(strace, buffer, event, state, false);
	return buffer->error;
}

/* A string becomes part of the line, or has a line of its own if that has been printed already. */
static int add_late(struct kl_strace *strace, struct kl_buffer *buffer,
		    const struct kl_event *event)
{
	struct state *state = state_of(strace, event->task.tid);
	struct kl_value index, text;

	if (!state)
		return -ENOMEM;
	if (kl_event_field(event, "arg", &index) || kl_event_field(event, "text", &text))
		return 0;
	if (strace->open == state) {
		if (index.number < state->call.n_args)
			set_text(&state->call, index.number, text.bytes, text.length);
		return state->call.texts.error;
	}
	leave_unfinished(strace, buffer);
	print_prefix(strace, buffer, event, event->task.tid);
	kl_buffer_printf(buffer, "<... argument %llu is ", (unsigned long long)index.number + 1);
	kl_call_quote(buffer, text.bytes, text.length, KL_QUOTE_PLAIN, false);
	kl_buffer_add_string(buffer, ">\n");
	return buffer->error;
}

/* A new thread returns from a call that its parent has made. strace does not print that. */
static bool is_birth(const struct state *state, const char *name, int64_t result)
{
	return !state->inside && !result &&
	       (!strcmp(name, "clone") || !strcmp(name, "clone3") || !strcmp(name, "fork") ||
		!strcmp(name, "vfork"));
}

static int add_exit(struct kl_strace *strace, struct kl_buffer *buffer,
		    const struct kl_event *event)
{
	struct state *state = state_of(strace, event->task.tid);
	int64_t result = kl_event_value(event, 0).number;
	const char *name = call_name(event);
	size_t start;

	if (!state)
		return -ENOMEM;
	if (is_birth(state, name, result))
		return 0;
	if (!state->inside || state->number != event->event_class->syscall) {
		state->inside = false;
		state->call.event_class = NULL;
		kl_call_set_name(&state->call, name);
		state->call.is_hex = false;
		kl_buffer_reset(&state->call.aux);
	}
	start = begin_return(strace, buffer, event, state, name);
	state->call.out = buffer;
	state->call.leaving = true;
	state->call.result = result;
	kl_call_print(&state->call);
	add_column(buffer, start);
	kl_call_print_result(&state->call);
	end_line(buffer, event, state);
	state->inside = false;
	state->interrupted = result == -516 ? state->call.name : NULL;
	forget_memory(state);
	print_pending(strace, buffer, event, state);
	return buffer->error;
}

static void print_status(struct kl_buffer *buffer, int status)
{
	if (WIFSIGNALED(status)) {
		kl_buffer_add_string(buffer, "+++ killed by ");
		kl_put_signal(buffer, WTERMSIG(status));
		kl_buffer_add_string(buffer, WCOREDUMP(status) ? " (core dumped) +++\n" : " +++\n");
	} else {
		kl_buffer_printf(buffer, "+++ exited with %d +++\n", WEXITSTATUS(status));
	}
}

static int add_end(struct kl_strace *strace, struct kl_buffer *buffer, const struct kl_event *event)
{
	int32_t tid = number_of(event, "tid");
	struct state *state = state_of(strace, tid);
	size_t start;
	int status;

	if (!state)
		return -ENOMEM;
	strace->has_memory = true;
	if (state->inside) {
		start = begin_return(strace, buffer, event, state, state->call.name);
		add_column(buffer, start);
		kl_buffer_add_string(buffer, "= ?");
		state->inside = false;
		end_line(buffer, event, state);
	}
	leave_unfinished(strace, buffer);
	status = number_of(event, "status");
	if (state->sent.sig && state->sent.sig == WTERMSIG(status) && state->sent.sig != SIGKILL)
		print_signal(strace, buffer, event, tid, &state->sent);
	print_prefix(strace, buffer, event, tid);
	print_status(buffer, status);
	state->sent.sig = 0;
	state->n_pending = 0;
	forget_memory(state);
	return buffer->error;
}

static int add_loss(struct kl_strace *strace, struct kl_buffer *buffer, const struct kl_loss *loss)
{
	struct thread *thread = NULL;
	unsigned int show;

	leave_unfinished(strace, buffer);
	while ((thread = kl_hash_next(&strace->threads, thread))) {
		if (!thread->state)
			continue;
		thread->state->inside = false;
		thread->state->n_pending = 0;
		forget_memory(thread->state);
	}
	show = strace->flags & KL_STRACE_TIMES && !(strace->flags & KL_STRACE_RELATIVE) ?
		       0 :
		       KL_SHOW_RELATIVE;
	kl_print_loss(buffer, KL_STYLE_TEXT, show, loss);
	return buffer->error;
}

int kl_strace_add(struct kl_strace *strace, struct kl_buffer *buffer, const struct kl_item *item)
{
	const struct kl_class *class;

	if (item->kind == KL_ITEM_LOSS)
		return add_loss(strace, buffer, item->loss);
	class = item->event->event_class;
	if (class->kind == KL_CLASS_SYSCALL_ENTRY)
		return add_entry(strace, buffer, item->event);
	if (class->kind == KL_CLASS_SYSCALL_EXIT && class->n_fields)
		return add_exit(strace, buffer, item->event);
	if (!strcmp(class->name, "strace_memory") || !strcmp(class->name, "strace_list"))
		return add_memory(strace, item->event, !strcmp(class->name, "strace_list"));
	if (!strcmp(class->name, "syscall_late_string"))
		return add_late(strace, buffer, item->event);
	if (!strcmp(class->name, "strace_signal"))
		return add_signal(strace, buffer, item->event);
	if (!strcmp(class->name, "strace_sent_signal"))
		return add_sent_signal(strace, buffer, item->event);
	if (!strcmp(class->name, "strace_exit"))
		return add_end(strace, buffer, item->event);
	return 0;
}

void kl_strace_finish(struct kl_strace *strace, struct kl_buffer *buffer)
{
	leave_unfinished(strace, buffer);
}
