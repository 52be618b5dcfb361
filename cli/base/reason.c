// SPDX-License-Identifier: GPL-2.0
/*
 * What a task waits for, in words, and which tasks can end the wait. Facts read only from the
 * program's own memory are marked as such.
 */
#include <poll.h>
#include <string.h>

#include "common.h"
#include "output.h"
#include "reason.h"

const struct kl_class *cli_find_call(struct kl_schema *schema, int number)
{
	if (!schema || number < 0 || number >= KL_EV_SYSCALL_MAX)
		return NULL;
	return kl_schema_class(schema, KL_EV_SYSCALL_ENTRY + (unsigned int)number);
}

const char *cli_call_name(const struct kl_class *class)
{
	const char *name = class ? strstr(class->name, "entry_") : NULL;

	return name ? name + strlen("entry_") : "?";
}

static void print_signal_set(uint64_t set, FILE *file)
{
	char text[16];

	if (__builtin_popcountll(set) > 32) {
		fprintf(file, "any signal that it does not block");
		return;
	}
	fprintf(file, "a signal:");
	for (unsigned int i = 0; i < 64; i++)
		if (set >> i & 1)
			fprintf(file, " %s", kl_detail_signal_name(i + 1, text, sizeof(text)));
}

static const char *pi_text(const struct kl_abi_detail_wait *w)
{
	return w->flags & KL_WAIT_PI ? ", with priority inheritance" : "";
}

static void print_lock(const struct kl_abi_detail_wait *w, FILE *file)
{
	if (!(w->flags & KL_WAIT_RECORD_LOCK))
		fprintf(file, "a lock on the whole file");
	else if (w->end == INT64_MAX)
		fprintf(file, "a lock on the file from byte %llu to its end",
			(unsigned long long)w->start);
	else
		fprintf(file, "a lock on bytes %llu to %llu of the file",
			(unsigned long long)w->start, (unsigned long long)w->end);
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

static void print_reason(const struct kl_detail *e, FILE *file)
{
	const struct kl_abi_detail_wait *w = &e->wait;

	switch (w->reason) {
	case KL_WAIT_FUTEX:
		fprintf(file, "a futex at %#llx, which is %llu%s", (unsigned long long)w->address,
			(unsigned long long)w->value, pi_text(w));
		break;
	case KL_WAIT_MUTEX:
		fprintf(file, "a mutex at %#llx%s%s", (unsigned long long)w->address,
			w->flags & KL_WAIT_SHARED ? " shared between processes" : "", pi_text(w));
		break;
	case KL_WAIT_THREAD:
		fprintf(file, "the end of thread %d", w->pid);
		break;
	case KL_WAIT_OPEN:
		fprintf(file, "%s to be opened", cli_clean_text(e->text, e->text_bytes));
		break;
	case KL_WAIT_CHILD:
		fprintf(file, w->value ? "child %llu" : "a child", (unsigned long long)w->value);
		break;
	case KL_WAIT_VFORK:
		fprintf(file, "child %d to execute a program or exit", w->pid);
		break;
	case KL_WAIT_SIGNAL:
		print_signal_set(w->value, file);
		break;
	case KL_WAIT_LOCK:
		print_lock(w, file);
		break;
	case KL_WAIT_IPC:
		fprintf(file, "System V object %llu", (unsigned long long)w->value);
		break;
	default:
		fputs(w->reason < sizeof(sentences) / sizeof(*sentences) && sentences[w->reason] ?
			      sentences[w->reason] :
			      "something unknown",
		      file);
	}
}

static void print_wait(const struct kl_detail *e, FILE *file)
{
	const struct kl_abi_detail_wait *w = &e->wait;
	struct kl_schema *schema = kl_schema_create();
	char left[CLI_NUMBER_MAX];

	fputs("  ", file);
	print_reason(e, file);
	if (w->syscall >= 0)
		fprintf(file, ", in %s", cli_call_name(cli_find_call(schema, w->syscall)));
	if (w->flags & KL_WAIT_HAS_UNTIL && w->until_ns > w->now_ns)
		fprintf(file, ", at most %s more", cli_print_time(left, w->until_ns - w->now_ns));
	if (w->asleep_ns)
		fprintf(file, ", for %s", cli_print_time(left, w->asleep_ns));
	fputc('\n', file);
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

static void print_on(const struct kl_detail *e, FILE *file)
{
	const struct kl_abi_detail_file *f = &e->file;

	fprintf(file, "    descriptor %d, %s", f->fd, kl_detail_file_name(f->kind));
	for (size_t i = 0; i < POLL_NAMES; i++)
		if (f->events & poll_names[i].bit)
			fprintf(file, " %s", poll_names[i].name);
	fprintf(file, ": %s\n", cli_clean_text(e->text, e->text_bytes));
}

static void print_socket(const struct kl_detail *e, FILE *file)
{
	const struct kl_abi_detail_socket *s = &e->socket;
	struct kl_buffer text = {};

	kl_detail_add_address(&text, s->local, s->local_bytes);
	kl_buffer_add_string(&text, " to ");
	kl_detail_add_address(&text, s->remote, s->remote_bytes);
	fprintf(file, "      %s %s, %s", kl_detail_family_name(s->family) ?: "socket",
		kl_detail_protocol_name(s), kl_detail_socket_state_name(s));
	fprintf(file, ", %s, %llu to read, %llu to send\n", text.data ?: "",
		(unsigned long long)s->recv_queue, (unsigned long long)s->send_queue);
	kl_buffer_deinit(&text);
}

static void print_other(const struct kl_detail *e, FILE *file)
{
	const struct kl_abi_detail_other *o = &e->other;

	fprintf(file, "    %s: %s, process %d", kl_detail_role_name(o->role),
		cli_clean_comm(o->comm), o->pid);
	if (o->tid != o->pid)
		fprintf(file, ", thread %d", o->tid);
	if (o->fd >= 0)
		fprintf(file, ", through its descriptor %d", o->fd);
	fputs(o->flags & KL_WAIT_FROM_MEMORY ? ", according to the program's memory\n" : "\n",
	      file);
}

void cli_print_wait(const struct kl_details *list, FILE *file)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct kl_detail *e = &list->entry[i];

		switch (e->kind) {
		case KL_DETAIL_WAIT:
			print_wait(e, file);
			break;
		case KL_DETAIL_RECORD_WAIT_ON:
			print_on(e, file);
			break;
		case KL_DETAIL_RECORD_WAIT_SOCKET:
			print_socket(e, file);
			break;
		case KL_DETAIL_RECORD_WAIT_OTHER:
			print_other(e, file);
			break;
		}
	}
}

/* ----------------------------------------------------------------------- JSON */

static json_t *reason_json(const struct kl_detail *e)
{
	const struct kl_abi_detail_wait *w = &e->wait;
	struct kl_schema *schema = kl_schema_create();
	json_t *to =
		json_pack("{s:s, s:o, s:b, s:i, s:I, s:I, s:b, s:b, s:b}", "reason",
			  kl_detail_wait_name(w->reason), "syscall",
			  w->syscall < 0 ?
				  json_null() :
				  json_string(cli_call_name(cli_find_call(schema, w->syscall))),
			  "interruptible", !!(w->flags & KL_WAIT_INTERRUPTIBLE), "pid", w->pid,
			  "address", (json_int_t)w->address, "value", (json_int_t)w->value,
			  "from_memory", !!(w->flags & KL_WAIT_FROM_MEMORY), "pi",
			  !!(w->flags & KL_WAIT_PI), "shared", !!(w->flags & KL_WAIT_SHARED));

	kl_schema_destroy(schema);
	if (w->flags & KL_WAIT_HAS_UNTIL)
		json_object_set_new(to, "until_ns", json_integer((json_int_t)w->until_ns));
	json_object_set_new(to, "now_ns", json_integer((json_int_t)w->now_ns));
	json_object_set_new(to, "asleep_ns", json_integer((json_int_t)w->asleep_ns));
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

json_t *cli_wait_json(const struct kl_details *list)
{
	json_t *to = NULL, *others = json_array();

	for (size_t i = 0; i < list->n; i++) {
		const struct kl_detail *e = &list->entry[i];

		if (e->kind == KL_DETAIL_WAIT && !to)
			to = reason_json(e);
		else if (e->kind == KL_DETAIL_RECORD_WAIT_OTHER)
			json_array_append_new(others, other_json(&e->other));
	}
	if (!to)
		to = json_object();
	json_object_set_new(to, "others", others);
	return to;
}
