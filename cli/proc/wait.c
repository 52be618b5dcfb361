// SPDX-License-Identifier: GPL-2.0
/*
 * What a process waits for, in words, and which tasks can end the wait; its current system call and
 * its kernel stack trace. Facts read only from the program's own memory are marked as such.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "detail.h"

/* ------------------------------------------------------------ the system call */

/* Class of a system call, or NULL. It also has the names of the arguments. */
static const struct kl_class *find_call(struct kl_schema *schema, int number)
{
	if (!schema || number < 0 || number >= KL_EV_SYSCALL_MAX)
		return NULL;
	return kl_schema_class(schema, KL_EV_SYSCALL_ENTRY + (unsigned int)number);
}

static const char *call_name(const struct kl_class *class)
{
	const char *name = class ? strstr(class->name, "entry_") : NULL;

	return name ? name + strlen("entry_") : "?";
}

static bool is_number(uint64_t argument)
{
	return argument < 65536;
}

static void print_call(const struct kl_abi_detail_syscall *s, const struct kl_class *class)
{
	unsigned int n = class && class->n_fields < 6 ? class->n_fields : 6;

	printf("  %s(", call_name(class));
	for (unsigned int i = 0; i < n; i++) {
		printf("%s", i ? ", " : "");
		if (class)
			printf("%s = ", class->fields[i].name);
		printf(is_number(s->argument[i]) ? "%llu" : "%#llx",
		       (unsigned long long)s->argument[i]);
	}
	printf(")\n  number %d, instruction %#llx, stack %#llx\n", s->number,
	       (unsigned long long)s->ip, (unsigned long long)s->sp);
}

void cli_proc_print_syscall(const struct kl_details *list)
{
	const struct kl_abi_detail_syscall *s = &list->entry[0].syscall;
	struct kl_schema *schema;

	if (s->flags & KL_DETAIL_CALL_RUNNING) {
		puts("  unknown while it is running");
		return;
	}
	if (s->number < 0) {
		puts("  none");
		return;
	}
	schema = s->flags & KL_DETAIL_CALL_COMPAT ? NULL : kl_schema_create();
	print_call(s, find_call(schema, s->number));
	kl_schema_destroy(schema);
}

json_t *cli_proc_syscall_json(const struct kl_detail *e)
{
	const struct kl_abi_detail_syscall *s = &e->syscall;
	struct kl_schema *schema = s->flags & KL_DETAIL_CALL_COMPAT ? NULL : kl_schema_create();
	json_t *arguments = json_array(), *to;

	for (unsigned int i = 0; s->number >= 0 && i < 6; i++)
		json_array_append_new(arguments, json_integer((json_int_t)s->argument[i]));
	to = json_pack("{s:b, s:i, s:o, s:o, s:I, s:I, s:b}", "running",
		       !!(s->flags & KL_DETAIL_CALL_RUNNING), "number", s->number, "name",
		       s->number < 0 ? json_null() :
				       json_string(call_name(find_call(schema, s->number))),
		       "arguments", arguments, "ip", (json_int_t)s->ip, "sp", (json_int_t)s->sp,
		       "compat", !!(s->flags & KL_DETAIL_CALL_COMPAT));
	kl_schema_destroy(schema);
	return to;
}

/* ------------------------------------------------------------ the stack trace */

static void write_frame(struct kl_buffer *text, const struct kl_symbols *symbols, uint64_t address)
{
	struct kl_symbol symbol;
	uint64_t offset;

	/* A return address may lie past its function's end: look up the call instead. */
	if (!symbols || kl_symbols_at(symbols, address - 1, &symbol, &offset)) {
		kl_buffer_printf(text, "%#llx", (unsigned long long)address);
		return;
	}
	kl_buffer_printf(text, "%s+%#llx", symbol.name, (unsigned long long)offset + 1);
	if (*symbol.module)
		kl_buffer_printf(text, " [%s]", symbol.module);
}

void cli_proc_print_stack(const struct kl_details *list)
{
	struct kl_symbols *symbols = kl_symbols_open(NULL);
	struct kl_buffer text = {};

	for (size_t i = 0; i < list->n; i++) {
		kl_buffer_add_string(&text, "  ");
		write_frame(&text, symbols, list->entry[i].frame.address);
		kl_buffer_add_char(&text, '\n');
	}
	cli_write_buffer(&text, stdout);
	kl_buffer_deinit(&text);
	kl_symbols_close(symbols);
}

json_t *cli_proc_stack_json(const struct kl_details *list)
{
	struct kl_symbols *symbols = kl_symbols_open(NULL);
	json_t *to = json_array();

	for (size_t i = 0; i < list->n; i++) {
		uint64_t address = list->entry[i].frame.address;
		struct kl_buffer text = {};

		write_frame(&text, symbols, address);
		json_array_append_new(to,
				      json_pack("{s:o, s:o}", "address",
						json_sprintf("%#llx", (unsigned long long)address),
						"symbol", cli_json_text(text.data ?: "")));
		kl_buffer_deinit(&text);
	}
	kl_symbols_close(symbols);
	return to;
}

/* --------------------------------------------------------------- what it waits for */

static void print_signal_set(uint64_t set)
{
	char text[16];

	if (__builtin_popcountll(set) > 32) {
		printf("any signal that it does not block");
		return;
	}
	printf("a signal:");
	for (unsigned int i = 0; i < 64; i++)
		if (set >> i & 1)
			printf(" %s", kl_detail_signal_name(i + 1, text, sizeof(text)));
}

static const char *pi_text(const struct kl_abi_detail_wait *w)
{
	return w->flags & KL_WAIT_PI ? ", with priority inheritance" : "";
}

static void print_lock(const struct kl_abi_detail_wait *w)
{
	if (!(w->flags & KL_WAIT_RECORD_LOCK))
		printf("a lock on the whole file");
	else if (w->end == INT64_MAX)
		printf("a lock on the file from byte %llu to its end",
		       (unsigned long long)w->start);
	else
		printf("a lock on bytes %llu to %llu of the file", (unsigned long long)w->start,
		       (unsigned long long)w->end);
}

static const char *const sentences[] = {
	[KL_WAIT_NONE] = "nothing: it is running",
	[KL_WAIT_CPU] = "a CPU: it is runnable",
	[KL_WAIT_STOPPED] = "SIGCONT: it is stopped",
	[KL_WAIT_TRACED] = "its tracer",
	[KL_WAIT_PARENT] = "its parent to reap it: it has ended",
	[KL_WAIT_KERNEL] = "something in the kernel, outside any system call",
	[KL_WAIT_HIDDEN] = "something in a system call whose arguments you may not see",
	[KL_WAIT_SYSCALL] = "something that its system call does not identify",
	[KL_WAIT_READ] = "data to read",
	[KL_WAIT_WRITE] = "space to write",
	[KL_WAIT_ACCEPT] = "an incoming connection",
	[KL_WAIT_CONNECT] = "a connection to be established",
	[KL_WAIT_FILE] = "an operation on a file",
	[KL_WAIT_POLL] = "one of the following",
	[KL_WAIT_TIME] = "a timeout",
};

static void print_reason(const struct kl_detail *e)
{
	const struct kl_abi_detail_wait *w = &e->wait;

	switch (w->reason) {
	case KL_WAIT_FUTEX:
		printf("a futex at %#llx, which is %llu%s", (unsigned long long)w->address,
		       (unsigned long long)w->value, pi_text(w));
		break;
	case KL_WAIT_MUTEX:
		printf("a mutex at %#llx%s%s", (unsigned long long)w->address,
		       w->flags & KL_WAIT_SHARED ? " shared between processes" : "", pi_text(w));
		break;
	case KL_WAIT_THREAD:
		printf("the end of thread %d", w->pid);
		break;
	case KL_WAIT_OPEN:
		printf("%s to be opened", cli_proc_text(e->text, e->text_bytes));
		break;
	case KL_WAIT_CHILD:
		printf(w->value ? "child %llu" : "a child", (unsigned long long)w->value);
		break;
	case KL_WAIT_VFORK:
		printf("child %d to execute a program or exit", w->pid);
		break;
	case KL_WAIT_SIGNAL:
		print_signal_set(w->value);
		break;
	case KL_WAIT_LOCK:
		print_lock(w);
		break;
	case KL_WAIT_IPC:
		printf("System V object %llu", (unsigned long long)w->value);
		break;
	default:
		fputs(w->reason < sizeof(sentences) / sizeof(*sentences) && sentences[w->reason] ?
			      sentences[w->reason] :
			      "something unknown",
		      stdout);
	}
}

static void print_wait(const struct kl_detail *e)
{
	const struct kl_abi_detail_wait *w = &e->wait;
	struct kl_schema *schema = kl_schema_create();
	char left[CLI_NUMBER_MAX];

	fputs("  ", stdout);
	print_reason(e);
	if (w->syscall >= 0)
		printf(", in %s", call_name(find_call(schema, w->syscall)));
	if (w->flags & KL_WAIT_HAS_UNTIL && w->until_ns > w->now_ns)
		printf(", at most %s more", cli_proc_time(left, w->until_ns - w->now_ns));
	puts("");
	kl_schema_destroy(schema);
}

static const struct {
	unsigned int bit;
	const char *name;
} poll_names[] = {
	{ POLLIN, "in" },	  { POLLPRI, "pri" },	    { POLLOUT, "out" },
	{ POLLRDNORM, "rdnorm" }, { POLLRDBAND, "rdband" }, { POLLWRNORM, "wrnorm" },
	{ POLLWRBAND, "wrband" }, { POLLRDHUP, "rdhup" },
};

#define POLL_NAMES (sizeof(poll_names) / sizeof(*poll_names))

static void print_on(const struct kl_detail *e)
{
	const struct kl_abi_detail_file *f = &e->file;

	printf("    descriptor %d, %s", f->fd, kl_detail_file_name(f->kind));
	for (size_t i = 0; i < POLL_NAMES; i++)
		if (f->events & poll_names[i].bit)
			printf(" %s", poll_names[i].name);
	printf(": %s\n", cli_proc_text(e->text, e->text_bytes));
}

static void print_socket(const struct kl_detail *e)
{
	const struct kl_abi_detail_socket *s = &e->socket;
	struct kl_buffer text = {};

	kl_detail_add_address(&text, s->local, s->local_bytes);
	kl_buffer_add_string(&text, " to ");
	kl_detail_add_address(&text, s->remote, s->remote_bytes);
	printf("      %s %s, %s", kl_detail_family_name(s->family) ?: "socket",
	       kl_detail_protocol_name(s), kl_detail_socket_state_name(s));
	printf(", %s, %llu to read, %llu to send\n", text.data ?: "",
	       (unsigned long long)s->recv_queue, (unsigned long long)s->send_queue);
	kl_buffer_deinit(&text);
}

static void print_other(const struct kl_detail *e)
{
	const struct kl_abi_detail_other *o = &e->other;

	printf("    %s: %s, process %d", kl_detail_role_name(o->role), cli_proc_comm(o->comm),
	       o->pid);
	if (o->tid != o->pid)
		printf(", thread %d", o->tid);
	if (o->fd >= 0)
		printf(", through its descriptor %d", o->fd);
	puts(o->flags & KL_WAIT_FROM_MEMORY ? ", according to the program's memory" : "");
}

void cli_proc_print_wait(const struct kl_details *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct kl_detail *e = &list->entry[i];

		switch (e->kind) {
		case KL_DETAIL_WAIT:
			print_wait(e);
			break;
		case KL_DETAIL_RECORD_WAIT_ON:
			print_on(e);
			break;
		case KL_DETAIL_RECORD_WAIT_SOCKET:
			print_socket(e);
			break;
		case KL_DETAIL_RECORD_WAIT_OTHER:
			print_other(e);
			break;
		}
	}
}

/* ----------------------------------------------------------------------- JSON */

static json_t *reason_json(const struct kl_detail *e)
{
	const struct kl_abi_detail_wait *w = &e->wait;
	struct kl_schema *schema = kl_schema_create();
	json_t *to = json_pack("{s:s, s:o, s:b, s:i, s:I, s:I, s:b, s:b, s:b}", "reason",
			       kl_detail_wait_name(w->reason), "syscall",
			       w->syscall < 0 ?
				       json_null() :
				       json_string(call_name(find_call(schema, w->syscall))),
			       "interruptible", !!(w->flags & KL_WAIT_INTERRUPTIBLE), "pid", w->pid,
			       "address", (json_int_t)w->address, "value", (json_int_t)w->value,
			       "from_memory", !!(w->flags & KL_WAIT_FROM_MEMORY), "pi",
			       !!(w->flags & KL_WAIT_PI), "shared", !!(w->flags & KL_WAIT_SHARED));

	kl_schema_destroy(schema);
	if (w->flags & KL_WAIT_HAS_UNTIL)
		json_object_set_new(to, "until_ns", json_integer((json_int_t)w->until_ns));
	json_object_set_new(to, "now_ns", json_integer((json_int_t)w->now_ns));
	if (w->flags & KL_WAIT_RECORD_LOCK) {
		json_object_set_new(to, "start", json_integer((json_int_t)w->start));
		json_object_set_new(to, "end", json_integer((json_int_t)w->end));
	}
	if (e->text_bytes)
		json_object_set_new(to, "path", cli_json_text(e->text));
	return to;
}

static json_t *other_json(const struct kl_abi_detail_other *o)
{
	return json_pack("{s:s, s:o, s:i, s:i, s:o, s:o, s:b}", "role",
			 kl_detail_role_name(o->role), "comm", cli_json_text(o->comm), "pid",
			 o->pid, "tid", o->tid, "fd", o->fd < 0 ? json_null() : json_integer(o->fd),
			 "of", o->of < 0 ? json_null() : json_integer(o->of), "from_memory",
			 !!(o->flags & KL_WAIT_FROM_MEMORY));
}

json_t *cli_proc_wait_json(const struct kl_details *list)
{
	json_t *to = NULL, *on = json_array(), *sockets = json_array(), *others = json_array();

	for (size_t i = 0; i < list->n; i++) {
		const struct kl_detail *e = &list->entry[i];

		if (e->kind == KL_DETAIL_WAIT && !to)
			to = reason_json(e);
		else if (e->kind == KL_DETAIL_RECORD_WAIT_ON)
			json_array_append_new(on, cli_proc_file_json(e));
		else if (e->kind == KL_DETAIL_RECORD_WAIT_SOCKET)
			json_array_append_new(sockets, cli_proc_socket_json(e));
		else if (e->kind == KL_DETAIL_RECORD_WAIT_OTHER)
			json_array_append_new(others, other_json(&e->other));
	}
	if (!to)
		to = json_object();
	json_object_set_new(to, "on", on);
	json_object_set_new(to, "sockets", sockets);
	json_object_set_new(to, "others", others);
	return to;
}
