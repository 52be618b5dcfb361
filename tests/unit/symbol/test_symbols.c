// SPDX-License-Identifier: GPL-2.0
/*
 * BTF of each kernel compared with the compiler (offsets/), BTF made by hand and damaged, and
 * symbols.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <kernlens/internal.h>
#include "kernels.h"
#include "unit.h"

#define MUTATIONS 20000
#define MEMBERS_MIN 50

/* Offset of "a.b.c" in the struct @type in bytes; -1: there is none. */
static long member_offset(const struct kl_btf *btf, uint32_t type, char *path)
{
	struct kl_btf_member member;
	long offset = 0;

	for (char *name = strtok(path, "."); name; name = strtok(NULL, ".")) {
		if (kl_btf_member_find(btf, type, name, &member))
			return -1;
		offset += member.bit_offset / 8;
		type = member.type;
	}
	return offset;
}

/* BTF's answer for "STRUCT.MEMBER", "sizeof.STRUCT" or "enum.CONSTANT". */
static long btf_says(const struct kl_btf *btf, char *what)
{
	struct kl_btf_value value;
	char *name = strchr(what, '.');
	int type;

	*name++ = 0;
	if (!strcmp(what, "enum"))
		return kl_btf_value_find(btf, name, &value) ? -1 : value.value;
	type = kl_btf_find(btf, strcmp(what, "sizeof") ? what : name, KL_BTF_BIT(KL_BTF_STRUCT));
	if (type < 0)
		return -1;
	return strcmp(what, "sizeof") ? member_offset(btf, type, name) :
					(long)kl_btf_bytes(btf, type);
}

static void test_offsets(const struct kl_btf *btf, const char *kernel)
{
	char path[512], line[256], what[200], copy[200];
	unsigned int same = 0, all = 0;
	FILE *file;
	long number, said;

	snprintf(path, sizeof(path), "%s/%s/list", KL_TEST_OFFSETS, kernel);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%199s %ld", what, &number) != 2)
			continue;
		all++;
		strcpy(copy, what);
		said = btf_says(btf, copy);
		same += said == number;
		if (said != number)
			printf("# %s: the compiler says %ld, BTF %ld\n", what, number, said);
	}
	if (file)
		fclose(file);
	printf("# %u members, sizes and constants\n", all);
	unit_check(all >= MEMBERS_MIN && same == all,
		   kernel_test("offsets, sizes and constants are the compiler's", kernel));
}

static bool described(const struct kl_btf *btf, uint32_t type, const char *text)
{
	struct kl_buffer buffer = { 0 };
	bool same;

	kl_btf_describe(btf, type, &buffer);
	same = buffer.data && !strcmp(buffer.data, text);
	if (!same)
		printf("# %s, not %s\n", buffer.data ? buffer.data : "", text);
	kl_buffer_deinit(&buffer);
	return same;
}

static void test_bitfields(const struct kl_btf *btf, const char *kernel)
{
	int task = kl_btf_find(btf, "task_struct", KL_BTF_BIT(KL_BTF_STRUCT));
	struct kl_btf_member wait, first, before, after;

	unit_check(!kl_btf_member_find(btf, task, "in_iowait", &wait) &&
			   !kl_btf_member_find(btf, task, "sched_reset_on_fork", &first) &&
			   !kl_btf_member_find(btf, task, "personality", &before) &&
			   !kl_btf_member_find(btf, task, "atomic_flags", &after) &&
			   wait.bits == 1 && first.bits == 1 && !before.bits &&
			   first.bit_offset >= before.bit_offset + 32 &&
			   wait.bit_offset > first.bit_offset && wait.bit_offset < after.bit_offset,
		   kernel_test("bitfields lie between their neighbors", kernel));
}

static void test_prototypes(const struct kl_btf *btf, const char *kernel)
{
	static const char *const types[] = { "struct file *", "char *", "size_t", "loff_t *" };
	static const char *const names[] = { "file", "buf", "count", "pos" };
	int function = kl_btf_function(btf, "vfs_read");
	struct kl_btf_parameter parameter;
	unsigned int same = 0;

	for (unsigned int i = 0; !kl_btf_parameter_at(btf, function, i, &parameter); i++)
		same += i < 4 && !strcmp(parameter.name, names[i]) &&
			described(btf, parameter.type, types[i]);
	unit_check(same == 4 && kl_btf_parameter_at(btf, function, 4, &parameter) == -ENOENT &&
			   described(btf, kl_btf_target(btf, function), "ssize_t"),
		   kernel_test("vfs_read has its four arguments", kernel));
	function = kl_btf_tracepoint(btf, "sched_switch");
	unit_check(!kl_btf_parameter_at(btf, function, 4, &parameter) &&
			   kl_btf_parameter_at(btf, function, 5, &parameter) == -ENOENT &&
			   !kl_btf_parameter_at(btf, function, 3, &parameter) &&
			   !strcmp(parameter.name, "next") &&
			   described(btf, parameter.type, "struct task_struct *"),
		   kernel_test("sched_switch has its arguments' names", kernel));
	unit_check(kl_btf_function(btf, "vfs_reed") == -ENOENT &&
			   kl_btf_tracepoint(btf, "sched_swich") == -ENOENT,
		   kernel_test("what is not there is not found", kernel));
}

static void test_variables(const struct kl_btf *btf, const char *kernel)
{
	struct kl_btf_variable variable;

	unit_check(!kl_btf_variable_find(btf, "runqueues", &variable) && variable.is_percpu &&
			   described(btf, variable.type, "struct rq"),
		   kernel_test("runqueues is a per-CPU struct rq", kernel));
	unit_check(kl_btf_variable_find(btf, "vfs_read", &variable) == -ENOENT,
		   kernel_test("a function is no variable", kernel));
}

static void test_kernel(const char *kernel)
{
	struct timespec start, end;
	struct kl_btf *btf;
	double ms = 1e9;

	for (int i = 0; i < 3; i++) {
		double took;

		clock_gettime(CLOCK_MONOTONIC, &start);
		btf = kl_btf_open(kernel_image(kernel));
		clock_gettime(CLOCK_MONOTONIC, &end);
		if (!unit_result(btf, kernel_test("BTF can be read", kernel), kl_error_text()))
			return;
		took = (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6;
		ms = took < ms ? took : ms;
		if (i < 2)
			kl_btf_close(btf);
	}
	printf("# %u types in %.2f ms\n", kl_btf_types(btf), ms);
	test_offsets(btf, kernel);
	test_bitfields(btf, kernel);
	test_prototypes(btf, kernel);
	test_variables(btf, kernel);
	kl_btf_close(btf);
}

/* ----------------------------------------------------------- made by hand */

struct maker {
	uint32_t word[256];
	unsigned int words;
	char strings[256];
	unsigned int strings_bytes;
};

static uint32_t make_string(struct maker *m, const char *text)
{
	uint32_t at = m->strings_bytes;

	strcpy(m->strings + at, text);
	m->strings_bytes += strlen(text) + 1;
	return at;
}

static void make_type(struct maker *m, const char *name, unsigned int kind, unsigned int count,
		      bool flag, uint32_t size)
{
	m->word[m->words++] = *name ? make_string(m, name) : 0;
	m->word[m->words++] = kind << 24 | count | (flag ? 1u << 31 : 0);
	m->word[m->words++] = size;
}

static void make_member(struct maker *m, const char *name, uint32_t type, uint32_t offset)
{
	m->word[m->words++] = *name ? make_string(m, name) : 0;
	m->word[m->words++] = type;
	m->word[m->words++] = offset;
}

static size_t make_file(const struct maker *m, uint8_t *file)
{
	uint32_t header[6] = { 0x0001eb9f, 24, 0, 4 * m->words, 4 * m->words, m->strings_bytes };

	memcpy(file, header, 24);
	memcpy(file + 24, m->word, 4 * m->words);
	memcpy(file + 24 + 4 * m->words, m->strings, m->strings_bytes);
	return 24 + 4 * m->words + m->strings_bytes;
}

/* 1 int, 2 signed enum, 3 enum64, 4 inner union, 5 struct, 6 typedef of itself. */
static size_t make_base(uint8_t *file)
{
	struct maker m = { .strings_bytes = 1 };

	make_type(&m, "int", KL_BTF_INT, 0, false, 4);
	m.word[m.words++] = 1 << 24 | 32;
	make_type(&m, "less", KL_BTF_ENUM, 1, true, 4);
	m.word[m.words++] = make_string(&m, "LESS");
	m.word[m.words++] = -2;
	make_type(&m, "more", KL_BTF_ENUM64, 1, false, 8);
	make_member(&m, "MORE", 5, 1);
	make_type(&m, "", KL_BTF_UNION, 2, false, 4);
	make_member(&m, "x", 1, 0);
	make_member(&m, "y", 1, 0);
	make_type(&m, "whole", KL_BTF_STRUCT, 3, true, 12);
	make_member(&m, "bits", 1, 3 << 24 | 29);
	make_member(&m, "", 4, 32);
	make_member(&m, "last", 1, 64);
	make_type(&m, "loop", KL_BTF_TYPEDEF, 0, false, 6);
	return make_file(&m, file);
}

static void test_made(void)
{
	struct kl_btf *btf, *module;
	struct kl_btf_member member;
	struct kl_btf_value value;
	struct maker m = { 0 };
	uint8_t file[2048];
	uint32_t strings;
	int whole;

	btf = kl_btf_parse(file, make_base(file), NULL);
	memcpy(&strings, file + 20, 4);
	if (!unit_result(btf, "BTF made by hand can be read", kl_error_text()))
		return;
	whole = kl_btf_find(btf, "whole", KL_BTF_STRUCTS);
	unit_check(!kl_btf_member_find(btf, whole, "bits", &member) && member.bits == 3 &&
			   member.bit_offset == 29 &&
			   !kl_btf_member_find(btf, whole, "y", &member) && !member.bits &&
			   member.bit_offset == 32 && kl_btf_bytes(btf, whole) == 12,
		   "bitfields, and members of anonymous unions");
	unit_check(!kl_btf_value_find(btf, "LESS", &value) && value.value == -2 &&
			   !kl_btf_value_find(btf, "MORE", &value) &&
			   value.value == (1ll << 32) + 5,
		   "constants of enums have signs and 64 bits");
	unit_check(!kl_btf_resolve(btf, 6) && !kl_btf_bytes(btf, 6),
		   "types that go in circles end");
	make_type(&m, "mine", KL_BTF_STRUCT, 1, false, 12);
	make_member(&m, "base", whole, 0);
	/* A module's strings follow the kernel's. */
	for (unsigned int i = 0; i < m.words; i += 3)
		m.word[i] += m.word[i] || !i ? strings : 0;
	module = kl_btf_open_module(btf, "/nonexistent");
	unit_check(!module && errno == ENOENT && strstr(kl_error_text(), "/nonexistent"),
		   "a file that is not there");
	module = kl_btf_parse(file + 1024, make_file(&m, file + 1024), btf);
	unit_check(module && kl_btf_find(module, "mine", KL_BTF_STRUCTS) == 7 &&
			   !kl_btf_member_find(module, 7, "base", &member) &&
			   member.type == (uint32_t)whole &&
			   kl_btf_find(module, "whole", KL_BTF_STRUCTS) == whole,
		   "a module's types follow the kernel's");
	kl_btf_close(module);
	kl_btf_close(btf);
}

/* Every query about every type: nothing may be read out of bounds. */
static void ask(const struct kl_btf *btf)
{
	struct kl_btf_parameter parameter;
	struct kl_btf_variable variable;
	struct kl_btf_member member;
	struct kl_btf_value value;

	for (uint32_t type = 0; type < kl_btf_types(btf) + 2; type++) {
		struct kl_buffer text = { 0 };

		kl_btf_describe(btf, type, &text);
		kl_buffer_deinit(&text);
		kl_btf_bytes(btf, type);
		kl_btf_is_signed(btf, type);
		kl_btf_elements(btf, type);
		kl_btf_member_at(btf, type, 0, &member);
		kl_btf_member_find(btf, type, "y", &member);
		kl_btf_value_at(btf, type, 0, &value);
		kl_btf_parameter_at(btf, type, 0, &parameter);
		kl_btf_variable_find(btf, kl_btf_name(btf, type), &variable);
	}
}

static void test_damaged(void)
{
	uint8_t good[2048], bad[2048];
	size_t bytes = make_base(good);
	unsigned int read = 0;

	srand(1);
	for (int i = 0; i < MUTATIONS; i++) {
		size_t length = rand() % 8 ? bytes : rand() % bytes;
		struct kl_btf *btf;

		memcpy(bad, good, bytes);
		for (int k = rand() % 4; k >= 0; k--)
			bad[rand() % bytes] = rand() % 3 ? rand() : rand() % 32;
		btf = kl_btf_parse(bad, length, NULL);
		if (!btf)
			continue;
		read++;
		ask(btf);
		kl_btf_close(btf);
	}
	printf("# %u of %d damaged files could be read\n", read, MUTATIONS);
	unit_check(read > 100 && read < MUTATIONS, "damaged BTF does no harm");
	unit_check(!kl_btf_parse("no BTF at all, but long enough", 30, NULL) && errno == EINVAL,
		   "what is no BTF is refused");
}

/* --------------------------------------------------------------- kallsyms */

static const char symbols_text[] = "ffffffff81000000 T _text\n"
				   "ffffffff81000000 t startup_64\n"
				   "ffffffff81000400 T vfs_read\n"
				   "ffffffff81000200 t helper\n"
				   "ffffffff81000300 t helper\n"
				   "0000000000034e80 D runqueues\n"
				   "ffffffff82000000 D jiffies\n"
				   "ffffffff82000100 b __key.1\n"
				   "ffffffff82000100 b __key\n"
				   "ffffffff82000100 b locks\n"
				   "ffffffff82000200 b __key.2\n"
				   "a line of something else\n"
				   "ffffffffc0000000 t vfs_read\t[other]\n"
				   "ffffffffc0000100 t init\t[other]\n";

static struct kl_symbols *read_symbols(const char *text)
{
	char path[] = "/tmp/kl-symbols-XXXXXX";
	int fd = mkstemp(path);
	struct kl_symbols *symbols = NULL;

	if (fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text))
		symbols = kl_symbols_open(path);
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	return symbols;
}

static void test_find(const struct kl_symbols *symbols)
{
	struct kl_symbol symbol;
	uint64_t offset;

	unit_check(kl_symbols_find(symbols, "vfs_read", &symbol) == 2 && !*symbol.module &&
			   symbol.address == 0xffffffff81000400,
		   "the kernel's symbol comes before that of a module");
	unit_check(kl_symbols_find(symbols, "other:vfs_read", &symbol) == 1 &&
			   symbol.address == 0xffffffffc0000000 &&
			   !strcmp(symbol.module, "other") &&
			   kl_symbols_find(symbols, "kernel:vfs_read", &symbol) == 1,
		   "a symbol of one module");
	unit_check(kl_symbols_find(symbols, "helper", &symbol) == 2, "a name that two have");
	unit_check(kl_symbols_find(symbols, "vfs_raed", &symbol) == -ENOENT &&
			   strstr(kl_error_text(), "did you mean \"vfs_read\"?"),
		   "an unknown symbol: what is near");
	unit_check(!kl_symbols_at(symbols, 0xffffffff81000204, &symbol, &offset) && offset == 4 &&
			   !strcmp(symbol.name, "helper") && symbol.address == 0xffffffff81000200,
		   "an address is a name and an offset");
	unit_check(!kl_symbols_at(symbols, 0xffffffff81000000, &symbol, &offset) && !offset &&
			   !strcmp(symbol.name, "_text"),
		   "of several at an address the first");
	unit_check(!kl_symbols_at(symbols, 0xffffffff82000108, &symbol, &offset) && offset == 8 &&
			   !strcmp(symbol.name, "locks"),
		   "but no key of a class of locks");
	unit_check(!kl_symbols_at(symbols, 0xffffffff82000200, &symbol, &offset) && !offset &&
			   !strcmp(symbol.name, "__key.2"),
		   "unless only that is there");
	unit_check(!kl_symbols_at(symbols, 0x34e84, &symbol, &offset) && offset == 4 &&
			   !kl_symbols_at(symbols, 0xffffffff81000404, &symbol, &offset) &&
			   !strcmp(symbol.name, "vfs_read") &&
			   !kl_symbols_at(symbols, 0xffffffffc0000010, &symbol, &offset) &&
			   !strcmp(symbol.module, "other"),
		   "symbols in any order are found");
	unit_check(kl_symbols_at(symbols, 0x1000, &symbol, &offset) == -ENOENT &&
			   kl_symbols_at(symbols, 0xffffffff90000000, &symbol, &offset) == -ENOENT,
		   "an address that is nobody's");
}

static unsigned int count_symbols(const struct kl_symbols *symbols)
{
	struct kl_symbol symbol;
	unsigned int n = 0;
	size_t position = 0;

	while (kl_symbols_next(symbols, NULL, false, &position, &symbol))
		n++;
	return n;
}

static void test_symbols(void)
{
	struct kl_symbols *symbols = read_symbols(symbols_text), *hidden;
	unsigned int functions = 0, reads = 0;
	struct kl_symbol symbol;
	size_t position = 0;

	if (!unit_result(symbols, "symbols can be read", kl_error_text()))
		return;
	unit_check(count_symbols(symbols) == 13 && !kl_symbols_hidden(symbols),
		   "lines that are none are left out");
	test_find(symbols);
	while (kl_symbols_next(symbols, "*", true, &position, &symbol))
		functions++;
	position = 0;
	while (kl_symbols_next(symbols, "other:vfs_*", true, &position, &symbol))
		reads++;
	unit_check(functions == 7 && reads == 1, "functions by pattern");
	kl_symbols_close(symbols);
	hidden = read_symbols("0000000000000000 T vfs_read\n0000000000000000 t x\n");
	unit_check(hidden && kl_symbols_hidden(hidden) &&
			   kl_symbols_find(hidden, "vfs_read", &symbol) == -EACCES &&
			   strstr(kl_error_text(), "CAP_SYSLOG"),
		   "hidden addresses: the text says what they need");
	kl_symbols_close(hidden);
	unit_check(!read_symbols("") && errno == EINVAL, "an empty file is refused");
	symbols = kl_symbols_open(NULL);
	unit_check(symbols && count_symbols(symbols) > 10000, "the running kernel's symbols");
	kl_symbols_close(symbols);
}

int main(void)
{
	const char *kernel;

	for (unsigned int i = 0; (kernel = kernel_name(i)); i++)
		test_kernel(kernel);
	test_made();
	test_damaged();
	test_symbols();
	return unit_end();
}
