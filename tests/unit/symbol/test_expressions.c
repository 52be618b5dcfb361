// SPDX-License-Identifier: GPL-2.0
/*
 * Compiles expressions to programs, and runs them on a machine of the test's own with the types of
 * real kernels; errors and their columns; defined events.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kernlens/internal.h>
#include "expressions.h"
#include "kernels.h"

#define FIELD(member, type_, format_, count_, anchor_, offset_)                                   \
	{                                                                                         \
#member, type_, format_, sizeof(((struct record *)0)->member) / (count_), count_, \
			anchor_, offset_                                                          \
	}
#define PLAIN(member, type) \
	FIELD(member, type, KL_FORMAT_dec, 1, 0, offsetof(struct record, member))

static const struct kl_field fields[] = {
	PLAIN(a, KL_TYPE_S64),
	PLAIN(b, KL_TYPE_S64),
	PLAIN(u, KL_TYPE_U64),
	PLAIN(i, KL_TYPE_S32),
	FIELD(w, KL_TYPE_U32, KL_FORMAT_hex, 1, 0, offsetof(struct record, w)),
	PLAIN(h, KL_TYPE_S16),
	PLAIN(c, KL_TYPE_U8),
	FIELD(comm, KL_TYPE_TEXT, KL_FORMAT_comm, 16, 0, offsetof(struct record, comm)),
	FIELD(list, KL_TYPE_U16, KL_FORMAT_dec, 4, 0, offsetof(struct record, list)),
	FIELD(first, KL_TYPE_STRING, KL_FORMAT_text, 1, 0, offsetof(struct record, first)),
	FIELD(between, KL_TYPE_S32, KL_FORMAT_dec, 1, 1, 0),
	FIELD(second, KL_TYPE_STRING, KL_FORMAT_text, 1, 1, 4),
	FIELD(behind, KL_TYPE_S64, KL_FORMAT_dec, 1, 2, 0),
};

const struct kl_class test_class = { .name = "test",
				     .fields = fields,
				     .n_fields = sizeof(fields) / sizeof(fields[0]) };
const struct record test_record = {
	.a = -1234567890123,
	.b = 42,
	.u = 0xf123456789abcdef,
	.i = -77,
	.w = 0xfffffff0,
	.h = -3,
	.c = 200,
	.comm = "worker/3:1",
	.list = { 1, 22, 333, 65535 },
	.first = "hello",
	.between = 512,
	.behind = -9,
};
struct machine machine;
struct kl_code code;

bool gives(struct kl_scope *scope, const char *text, uint64_t value)
{
	const char *wrong;
	uint64_t got;

	if (kl_expression_compile(scope, "filter", text, 0, &code)) {
		printf("# %s\n", kl_error_text());
		return false;
	}
	wrong = check_code(&code);
	got = evaluate(&code, &machine);
	if (wrong || got != value)
		printf("# %s: %#llx, not %#llx %s\n", text, (unsigned long long)got,
		       (unsigned long long)value, wrong ? wrong : "");
	return !wrong && got == value;
}

bool refused(struct kl_scope *scope, const char *text, const char *message)
{
	const char *said = kl_error_text();
	int ret = kl_expression_compile(scope, "filter", text, 0, &code);

	if (ret < 0 && !strncmp(said, "filter:", 7) && !strncmp(said + 7, message, strlen(message)))
		return true;
	printf("# %s: %s\n", text, ret ? said : "compiles");
	return false;
}

/* Does @text write @bytes at @out, with this type and format? */
static bool records(struct kl_scope *scope, const char *text, enum kl_type type,
		    enum kl_format format, const void *out, size_t bytes)
{
	if (kl_expression_compile(scope, "field", text, KL_EXPRESSION_RECORD, &code)) {
		printf("# %s\n", kl_error_text());
		return false;
	}
	evaluate(&code, &machine);
	return !check_code(&code) && code.result.type == type && code.result.format == format &&
	       machine.out_bytes == bytes && !memcmp(machine.out, out, bytes);
}

/* ------------------------------------------------------------------ memory */

static uint64_t next_free;

static uint64_t allocate(size_t bytes)
{
	uint64_t at = next_free;

	next_free += (bytes + 63) & ~63ull;
	return at;
}

static void poke(uint64_t address, const void *bytes, size_t n)
{
	memcpy(machine.kernel + (address - KERNEL_BASE), bytes, n);
}

static void poke64(uint64_t address, uint64_t value)
{
	poke(address, &value, 8);
}

/* Offset of a member, by the BTF reader, which has its own test. */
static uint64_t member(const struct kl_btf *btf, const char *type, const char *name)
{
	struct kl_btf_member m = { 0 };

	kl_btf_member_find(btf, kl_btf_find(btf, type, KL_BTF_STRUCTS), name, &m);
	return m.bit_offset / 8;
}

/* A task with an mm and a parent, a file with a dentry, a run queue. */
static void make_memory(const struct kl_btf *btf)
{
	uint64_t task, mm, file, dentry, name, path = member(btf, "file", "f_path");
	uint32_t pid = 4242, fine = 0x180;
	uint16_t mode = 0100644;

	memset(&machine, 0, sizeof(machine));
	machine.fields = (const uint8_t *)&test_record;
	machine.fields_bytes = sizeof(test_record);
	next_free = KERNEL_BASE + 0x1000;
	task = allocate(16384);
	mm = allocate(4096);
	file = allocate(1024);
	dentry = allocate(1024);
	name = allocate(64);
	machine.current = task;
	poke(task + member(btf, "task_struct", "pid"), &pid, 4);
	poke(task + member(btf, "task_struct", "comm"), "worker/3:1", 11);
	poke64(task + member(btf, "task_struct", "mm"), mm);
	poke64(task + member(btf, "task_struct", "real_parent"), task);
	poke64(mm + member(btf, "mm_struct", "total_vm"), 777);
	poke64(file + path + member(btf, "path", "dentry"), dentry);
	poke64(dentry + member(btf, "dentry", "d_name") + member(btf, "qstr", "name"), name);
	poke(name, "libc.so.6", 10);
	poke(file + 512, &mode, 2);
	poke(KERNEL_BASE + 0x100, &fine, 4);
	poke64(KERNEL_BASE + 0x200, 99000);
	poke(machine.current + member(btf, "task_struct", "in_iowait"), "\xff\xff\xff\xff", 4);
	memcpy(machine.user + 16, "/etc/passwd", 12);
	machine.argument[0] = file;
	machine.argument[1] = USER_BASE + 16;
	machine.argument[2] = 0xdeadbeef00001000;
	machine.variable[kl_variable_find("load_1")->id] = 1500;
	machine.variable_text = "my own name";
	machine.flags = 1ull << 5;
}

/* ------------------------------------------------------------------- tests */

static void test_fields(struct kl_scope *scope)
{
	unit_check(gives(scope, "list[0] + list[3]", 65536), "elements of a field");
	unit_check(gives(scope, "between", 512) && gives(scope, "behind", -9ull),
		   "fields behind strings, with zero bytes between");
	unit_check(gives(scope, "comm == \"worker/3:1\"", 1) &&
			   gives(scope, "comm == \"worker\"", 0) &&
			   gives(scope, "comm == \"worker*\"", 1) &&
			   gives(scope, "\"work*\" != comm", 0) &&
			   gives(scope, "comm == \"*\"", 1) &&
			   gives(scope, "comm == \"worker\\*\"", 0),
		   "text of a field, whole and its beginning");
	unit_check(gives(scope, "first == \"hello\"", 1) &&
			   gives(scope, "first == \"hello!\"", 0) &&
			   gives(scope, "second == \"\" && first != \"\"", 1),
		   "strings of a record");
	unit_check(!(code.may & KL_MAY_HOOK_FUNCTIONS), "fields need no right");
	unit_check(gives(scope, "load_1 > 1000 && parent_comm == \"my*\"", 1), "variables");
	unit_check(gives(scope, "since(on) + since(session)", 2 * SINCE + 5 + KL_SINCE_SESSION) &&
			   gives(scope, "since(off) > 0", 0),
		   "since when flags are set");
	unit_check(gives(scope, "flag(on)", 1) && gives(scope, "flag(off) || !flag(on)", 0),
		   "flags");
}

/* What expressions and alarm rules have in common. */
static void test_words_and_units(struct kl_scope *scope)
{
	unit_check(gives(scope, "5K + 1M + 1G + 1T",
			 5 * 1024 + (1ull << 20) + (1ull << 30) + (1ull << 40)) &&
			   gives(scope, "3KiB + 3MiB + 3GiB + 3TiB + 3B",
				 3 * ((1ull << 10) + (1ull << 20) + (1ull << 30) + (1ull << 40)) +
					 3),
		   "sizes");
	unit_check(gives(scope, "1ns + 1us + 1ms + 1s", 1001001001) &&
			   gives(scope, "1min + 1h + 1d", (60 + 3600 + 86400) * 1000000000ull) &&
			   gives(scope, "0s", 0),
		   "times are in ns");
	unit_check(gives(scope, "1.5K", 1536) && gives(scope, "2.5ms", 2500000) &&
			   gives(scope, "0.25G", 1 << 28) && gives(scope, "2.0", 2),
		   "fractions of a unit");
	unit_check(gives(scope, "10ul % 4 + 5%3 + 0xBB + 0x5d", 2 + 2 + 0xbb + 0x5d),
		   "suffixes of C, remainders and hexadecimal digits");
	unit_check(gives(scope, "b == 42 and c == 200", 1) &&
			   gives(scope, "b == 1 or c == 200", 1) &&
			   gives(scope, "b == 42 or b == 1 and c == 1", 1),
		   "and binds tighter than or");
	unit_check(gives(scope, "not b == 1", 1) && gives(scope, "!b == 1", 0) &&
			   gives(scope, "!b == 0", 1) && gives(scope, "not b & 2", 0) &&
			   gives(scope, "not b == 1 and b == 1", 0) &&
			   gives(scope, "not (b == 1 && c)", 1) && gives(scope, "not not b", 1) &&
			   gives(scope, "b and not c == 1 ? 5 : 6", 5) &&
			   gives(scope, "3 * (not b) + 4", 4),
		   "not binds less than comparisons, unlike !");
	unit_check(gives(scope, "!~b", 0) && gives(scope, "! ~b + 1", 1) &&
			   gives(scope, "!~-1", 1) && gives(scope, "!!~b", 1),
		   "! and ~ in front of a value");
	unit_check(gives(scope, "comm ~ \"worker*\"", 1) &&
			   gives(scope, "comm !~ \"worker*\"", 0) &&
			   gives(scope, "comm ~ \"worker\"", 0) &&
			   gives(scope, "comm ~ \"worker/3:1\"", 1) &&
			   gives(scope, "comm ~ \"worker\\*\"", 0) &&
			   gives(scope, "comm ~ \"w\\x6frk*\" && comm !~ \"x*\"", 1),
		   "patterns");
}

static void test_memory(struct kl_scope *scope, const struct kl_btf *btf)
{
	unit_check(gives(scope, "current->pid", 4242) &&
			   gives(scope, "current->real_parent->pid + 1", 4243) &&
			   gives(scope, "current->mm->total_vm", 777),
		   "members through pointers");
	unit_check(kl_expression_compile(scope, "f", "current->mm->total_vm", 0, &code) == 0 &&
			   code.n_ops == 4 && code.ops[0].code == KL_OP_CURRENT &&
			   code.ops[1].code == KL_OP_LOAD && code.ops[2].code == KL_OP_LOAD &&
			   code.may == KL_MAY_HOOK_FUNCTIONS,
		   "are one load each, and need a right");
	unit_check(gives(scope, "current->comm == \"worker/*\"", 1) &&
			   gives(scope, "current->comm[0]", 'w') &&
			   gives(scope, "*current->comm == 'w'", 1) &&
			   gives(scope, "&current->comm[3] - current->comm", 3),
		   "an array of characters is text, and characters");
	unit_check(gives(scope, "current->comm[current->comm[9] - '0']", 'o'),
		   "an index is a number");
	unit_check(gives(scope, "current->in_iowait", 1), "a bitfield");
	unit_check(gives(scope, "file->f_path.dentry->d_name.name == \"libc.so*\"", 1) &&
			   gives(scope, "arg1 == file", 1) &&
			   gives(scope, "(u64)count", 0xdeadbeef00001000),
		   "arguments by name and number");
	unit_check(gives(scope, "*(u16 *)((char *)file + 512) & 0777", 0644), "casts of pointers");
	unit_check(gives(scope, "((struct task_struct *)(u64)current)->pid == (pid_t)4242", 1),
		   "casts to a struct");
	unit_check(gives(scope, "(struct task_struct *)0 && ((struct task_struct *)0)->pid", 0) &&
			   !machine.fault,
		   "what && leaves out is not read");
	unit_check(gives(scope, "((struct task_struct *)8)->pid", 0) && machine.fault,
		   "what cannot be read is 0");
	unit_check(gives(scope, "PIDTYPE_TGID + PIDTYPE_MAX", 5), "constants of enums");
	unit_check(records(scope, "current->comm", KL_TYPE_STRING, KL_FORMAT_text, "worker/3:1",
			   11) &&
			   code.out_bytes == 16,
		   "text is recorded");
	unit_check(records(scope, "user(buf)", KL_TYPE_STRING, KL_FORMAT_text, "/etc/passwd", 12),
		   "text of the task");
	unit_check(records(scope, "w", KL_TYPE_U32, KL_FORMAT_hex, &test_record.w, 4) &&
			   records(scope, "i", KL_TYPE_S32, KL_FORMAT_dec, &test_record.i, 4),
		   "a field keeps its width and format");
	unit_check(records(scope, "current", KL_TYPE_U64, KL_FORMAT_ptr, &machine.current, 8) &&
			   code.result.kind == KL_RESULT_POINTER &&
			   !strcmp(kl_btf_name(btf, code.result.btf_type), "task_struct"),
		   "a pointer says to what");
	unit_check(!kl_expression_compile(scope, "f", "((struct inode *)file)->i_mode", 0, &code) &&
			   code.result.format == KL_FORMAT_mode,
		   "a typedef's format");
}

static void test_globals(struct kl_scope *scope)
{
	unit_check(gives(scope, "jiffies", 99000) && !*code.note, "a global that is known");
	unit_check(gives(scope, "mystery", 0x180) && strstr(code.note, "mystery"),
		   "one that is not is taken as unsigned long, and it is said");
	unit_check(!kl_expression_compile(scope, "f", "runqueues.nr_running", 0, &code) &&
			   code.ops[0].code == KL_OP_CONST && code.ops[0].imm64 == 0x34e80 &&
			   code.ops[1].code == KL_OP_PERCPU && code.ops[2].code == KL_OP_LOAD,
		   "a per-CPU variable");
	unit_check(gives(scope, "&vfs_read == vfs_read", 1) &&
			   gives(scope, "(u64)vfs_read", 0xffff888000000700),
		   "a function is its address");
}

static const struct {
	const char *text;
	const char *message;
} complaints[] = {
	{ "1 + current->comn", "1:14: struct task_struct has no member \"comn\"; did you mean "
			       "\"comm\"?\n  1 + current->comn\n               ^" },
	{ "a ==\n  xyz", "2:3: unknown name \"xyz\"\n    xyz\n    ^" },
	{ "curent->pid", "1:1: unknown name \"curent\"; did you mean \"current\"?" },
	{ "current.pid", "1:9: this is a pointer: use -> for its members" },
	{ "current->se->vruntime", "1:14: this is not a pointer: use . for its members" },
	{ "current->pid.x", "1:14: this is not a struct" },
	{ "comm", "1:1: a string is not a number" },
	{ "comm < \"x\"", "1:6: strings can only be compared with == and !=" },
	{ "a == \"x\"", "1:1: this is a number, not a string" },
	{ "list", "1:1: this has several values" },
	{ "list[4]", "1:6: the array has only 4 elements" },
	{ "list[a]", "1:6: an index into a field must be a constant" },
	{ "current->se", "1:10: a whole struct sched_entity is not a number" },
	{ "user(buf) == \"x\"", "1:1: a string in the task's memory" },
	{ "(struct inoed *)a", "1:9: the kernel has no struct inoed; did you mean \"inode\"?" },
	{ "a = 3", "1:3: assignment is not possible" },
	{ "a +", "1:4: expected a value before the end" },
	{ "a b", "1:3: expected an operator before \"b\"" },
	{ "(a", "1:3: expected \")\" before the end" },
	{ "a @ b", "1:3: unexpected '@'" },
	{ "\"abc", "1:1: missing closing" },
	{ "12ab", "1:3: invalid unit \"ab\"; expected B K M G T or ns us ms s min h d" },
	{ "0x1fK", "1:5: unexpected 'K' in a number" },
	{ "09", "1:2: unexpected '9' in a number" },
	{ "017K", "1:4: unexpected 'K' in a number" },
	{ "1.5", "1:1: this is not a whole number" },
	{ "a > 0.1K", "1:5: this is not a whole number" },
	{ "1.", "1:3: expected a member's name" },
	{ "5us2", "1:2: invalid unit \"us2\"" },
	{ "99999999T", "1:1: the number does not fit into 64 bits" },
	{ "0.12345678901234567890", "1:1: the number has too many digits" },
	{ "a not b", "1:3: expected an operator before \"not\"" },
	{ "a + not b", "1:9: expected an operator before \"b\"" },
	{ "a and", "1:6: expected a value before the end" },
	{ "comm ~ 5", "1:8: expected a pattern in quotes" },
	{ "comm ~ work", "1:8: unknown name \"work\"" },
	{ "comm ~ \"a*b\"", "1:8: a pattern can have only one *" },
	{ "comm !~ \"a?\"", "1:9: a pattern can have only one *" },
	{ "\"a\" ~ comm", "1:7: expected a pattern in quotes" },
	{ "a ~ \"x\"", "1:1: this is a number, not a string" },
	{ "a , b", "1:3: expected an operator before \",\"" },
	{ "99999999999999999999", "1:1: the number does not fit into 64 bits" },
	{ "a / 0", "1:3: division by 0" },
	{ "a << 64", "1:6: the shift count exceeds 63" },
	{ "*arg3", "1:1: this is not a pointer" },
	{ "&a", "1:1: this has no address" },
	{ "since(onn)", "1:7: unknown flag \"onn\"; did you mean \"on\"?" },
	{ "flag(onn)", "1:6: unknown flag \"onn\"; did you mean \"on\"?" },
	{ "task", "1:1: the variable task is neither a number nor a string" },
	{ "f(a)", "1:1: unknown function \"f\"" },
	{ "current + current", "1:9: one of the two is a pointer" },
	{ "  ", "1:3: the expression is empty" },
};

static void test_complaints(struct kl_scope *scope)
{
	for (unsigned int i = 0; i < sizeof(complaints) / sizeof(complaints[0]); i++) {
		char name[128];

		snprintf(name, sizeof(name), "complains: %.*s",
			 (int)strcspn(complaints[i].message, "\n"), complaints[i].message);
		unit_result(refused(scope, complaints[i].text, complaints[i].message), name,
			    complaints[i].text);
	}
}

static bool has_field(const struct kl_capture *capture, unsigned int index, const char *name,
		      enum kl_type type, enum kl_format format, unsigned int anchor,
		      unsigned int offset)
{
	const struct kl_field *f = &capture->fields[index];

	return index < capture->event_class.n_fields && !strcmp(f->name, name) && f->type == type &&
	       f->format == format && f->anchor == anchor && f->offset == offset && f->count == 1;
}

static void test_capture(struct kl_scope *scope)
{
	static struct kl_capture capture;
	int32_t fd;

	kl_scope_set_function(scope, "do_sys_openat2");
	kl_capture_init(&capture, KL_EV_DYNAMIC, "fn:do_sys_openat2", "fn", "A test");
	unit_check(!kl_capture_arguments(&capture, scope) && !check_code(&capture.code) &&
			   has_field(&capture, 0, "dfd", KL_TYPE_S32, KL_FORMAT_dec, 0, 0) &&
			   has_field(&capture, 1, "filename", KL_TYPE_STRING, KL_FORMAT_text, 0,
				     4) &&
			   has_field(&capture, 2, "how", KL_TYPE_U64, KL_FORMAT_ptr, 1, 0),
		   "a function's arguments are fields");
	machine.argument[0] = 0xffffffffffffff9c;
	evaluate(&capture.code, &machine);
	memcpy(&fd, machine.out, 4);
	unit_check(machine.out_bytes == 4 + 12 + 8 && fd == -100 &&
			   !strcmp((char *)machine.out + 4, "/etc/passwd"),
		   "a string of the task's memory");
	machine.argument[1] = machine.current;
	poke(machine.current, "kernel text", 12);
	evaluate(&capture.code, &machine);
	unit_check(!strcmp((char *)machine.out + 4, "kernel text"), "and of the kernel's");
	unit_check(!kl_capture_add(&capture, scope, "name", "current->comm") &&
			   !kl_capture_add(&capture, scope, "is", "filename == \"kernel*\"") &&
			   has_field(&capture, 4, "is", KL_TYPE_S32, KL_FORMAT_dec, 2, 0) &&
			   !check_code(&capture.code),
		   "expressions are fields, too");
	evaluate(&capture.code, &machine);
	unit_check(machine.out_bytes == 4 + 12 + 8 + 11 + 4 && machine.out[35] == 1,
		   "and are written behind them");
	unit_check(kl_capture_add(&capture, scope, "how", "1") == -EEXIST &&
			   kl_capture_add(&capture, scope, "x", "nothing") == -EINVAL &&
			   strstr(kl_error_text(), "x:1:1: ") && capture.event_class.n_fields == 5,
		   "what is refused changes nothing");
	kl_capture_init(&capture, KL_EV_DYNAMIC, "tp:sched_switch", "tp", "A test");
	unit_check(!kl_scope_set_tracepoint(scope, "sched_switch") &&
			   !kl_capture_arguments(&capture, scope) &&
			   has_field(&capture, 0, "preempt", KL_TYPE_U8, KL_FORMAT_dec, 0, 0) &&
			   has_field(&capture, 1, "prev", KL_TYPE_U64, KL_FORMAT_ptr, 0, 1) &&
			   capture.event_class.n_fields == 4,
		   "a tracepoint's arguments are fields");
	kl_capture_init(&capture, KL_EV_DYNAMIC, "fn:vfs_read:ret", "fn", "A test");
	unit_check(!kl_scope_set_return(scope, "vfs_read") &&
			   !kl_capture_arguments(&capture, scope) &&
			   has_field(&capture, 0, "ret", KL_TYPE_S64, KL_FORMAT_dec, 0, 0) &&
			   refused(scope, "arg1", "1:1: unknown name \"arg1\""),
		   "what a function returns is a field");
	unit_check(kl_scope_set_tracepoint(scope, "sched_swich") == -ENOENT &&
			   strstr(kl_error_text(), "did you mean \"sched_switch\"?"),
		   "an unknown tracepoint: what is near");
	unit_check(kl_scope_set_return(scope, "schedule") == -EINVAL &&
			   kl_scope_set_function(scope, "no_such_function") == 1 &&
			   kl_scope_set_function(scope, "ext4:vfs_read") == 0,
		   "functions that return nothing, or are not described");
}

/* Turn a line of the manual page into the text that a reader sees. */
static void unformat(char *line)
{
	char *out = line;

	for (char *in = line; *in && *in != '\n'; in++) {
		if (!strncmp(in, "\\(ti", 4)) {
			*out++ = '~';
			in += 3;
		} else if (*in != '\\') {
			*out++ = *in;
		}
	}
	*out = 0;
}

/* Everything between .EX and .EE in the manual page is an expression. */
static void test_manual(struct kl_scope *scope)
{
	struct kl_schema *schema = kl_schema_create();
	FILE *page = fopen(KL_TEST_MANUAL, "r");
	unsigned int examples = 0, good = 0;
	bool inside = false;
	char line[256];

	kl_scope_set_class(scope, kl_schema_find(schema, "sched_switch"));
	kl_scope_set_function(scope, "vfs_read");
	while (page && fgets(line, sizeof(line), page)) {
		if (*line == '.') {
			inside = !strncmp(line, ".EX", 3);
		} else if (inside) {
			unformat(line);
			examples++;
			if (!kl_expression_compile(scope, "manual", line, KL_EXPRESSION_RECORD,
						   &code))
				good++;
			else
				printf("# %s\n", kl_error_text());
		}
	}
	if (page)
		fclose(page);
	unit_check(examples >= 10 && good == examples, "the manual's examples compile");
	kl_scope_set_class(scope, NULL);
	kl_schema_destroy(schema);
}

static struct kl_symbols *make_symbols(void)
{
	static const char text[] = "ffff888000000200 D jiffies\n"
				   "ffff888000000100 D mystery\n"
				   "ffff888000000800 D init_task\n"
				   "0000000000034e80 D runqueues\n"
				   "ffff888000000700 T vfs_read\n";
	char path[] = "/tmp/kl-symbols-XXXXXX";
	int fd = mkstemp(path);
	struct kl_symbols *symbols = NULL;

	if (fd < 0)
		return NULL;
	if (write(fd, text, sizeof(text) - 1) == sizeof(text) - 1)
		symbols = kl_symbols_open(path);
	close(fd);
	unlink(path);
	return symbols;
}

static void test_kernel(const char *kernel)
{
	struct kl_btf *btf = kl_btf_open(kernel_image(kernel));
	struct kl_symbols *symbols = make_symbols();
	struct kl_scope *scope = kl_scope_create(btf, symbols);

	printf("# %s\n", kernel);
	if (!unit_result(btf && symbols, kernel_test("types and symbols", kernel), kl_error_text()))
		goto out;
	make_memory(btf);
	kl_scope_set_class(scope, &test_class);
	kl_scope_set_function(scope, "vfs_read");
	kl_scope_add_flag(scope, "off", 4);
	kl_scope_add_flag(scope, "on", 4);
	kl_scope_add_flag(scope, "on", 5);
	test_fields(scope);
	test_words_and_units(scope);
	test_memory(scope, btf);
	test_globals(scope);
	test_complaints(scope);
	test_fuzz(scope);
	make_memory(btf);
	kl_scope_set_class(scope, NULL);
	test_manual(scope);
	test_capture(scope);
	test_source(btf, symbols);
out:
	kl_scope_destroy(scope);
	kl_symbols_close(symbols);
	kl_btf_close(btf);
}

int main(void)
{
	struct kl_scope *scope = kl_scope_create(NULL, NULL);
	const char *kernel;

	machine.fields = (const uint8_t *)&test_record;
	machine.fields_bytes = sizeof(test_record);
	kl_scope_set_class(scope, &test_class);
	test_arithmetic(scope);
	test_random(scope);
	kl_scope_add_argument(scope, "not", 0);
	machine.argument[0] = 5;
	unit_check(gives(scope, "not - 2", 3) && gives(scope, "a and not", 1) &&
			   refused(scope, "not (a)", "1:1: unknown function \"not\""),
		   "a name that is the word of an operator");
	kl_scope_clear_arguments(scope);
	unit_check(refused(scope, "current->pid", "1:10: this is not a struct") &&
			   refused(scope, "(struct x *)a",
				   "1:9: the kernel's type information (BTF)"),
		   "without types there are no members");
	kl_scope_destroy(scope);
	for (unsigned int i = 0; (kernel = kernel_name(i)); i++)
		test_kernel(kernel);
	return unit_end();
}
