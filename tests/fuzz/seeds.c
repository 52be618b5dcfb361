// SPDX-License-Identifier: GPL-2.0
/*
 * seeds FOLDER: generates inputs with today's writers as FOLDER/TARGET/NAME: traces in both
 * formats, types, programs, cores, databases. tests/fuzz/corpus was grown from them.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/monitor/history.h"
#include "../../lib/reader/frame.h"
#include "../../lib/symbol/elf.h"
#include "lib/synth.h"
#include "shared.h"
#include "types.h"

#define CORE_TEXT 0xffffffff81000000ull
#define CORE_BYTES 0x1000u

static const char *root;

static void save(const char *target, const char *name, const void *bytes, size_t length)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, target);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", root, target, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	fuzz_assert(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
	close(fd);
}

static void save_text(const char *target, const char *name, const char *text)
{
	save(target, name, text, strlen(text));
}

/* ------------------------------------------------------------------- traces */

static const char stacks_text[] =
	"kernlens-stacks 3\nno-room 3\nstack 1 0 0 0 2\n"
	"ffffffff81000010 vfs_read 10 - - 0 - 0 0 0\nffffffff81000020 ksys_read 20 ext4 - 0 a.c 7 1 0\n"
	"stack 2 1 49 12 1\n401000 _ZN3foo3barEv 0 /bin/a\\040b 0011223344 1000 b.cc 12 0 1\n";
static const char addresses_text[] = "kernlens-symbols 1\nffffffff81000010 hrtimer_wakeup 10 -\n"
				     "ffffffffc0000000 init 0 ext4\n";

/* A value for any field. */
static void add_any(struct synth *s, const struct kl_class *class, uint64_t time, unsigned int turn)
{
	static const char bytes[512] = "/etc/pass\twd\n\"x\", = +1";
	struct synth_arg arg[32] = {};

	for (unsigned int i = 0; i < class->n_fields; i++) {
		const struct kl_field *field = &class->fields[i];

		if (field->type >= KL_TYPE_TEXT || field->count > 1)
			arg[i].bytes = bytes;
		else if (field->format == KL_FORMAT_ptr)
			arg[i].number = 0xffffffff81000010ull;
		else
			arg[i].number = turn % 3 ? turn % 50 : 0 - (uint64_t)turn;
	}
	synth_add(s, class->name, time, arg);
}

static size_t make_stream(const struct kl_schema *schema, unsigned int cpu, uint8_t *to)
{
	struct synth *s = malloc(sizeof(*s));
	const struct kl_class *class = NULL;
	uint64_t time = 1000000 + cpu * 50;
	size_t bytes = 0;

	fuzz_assert(s);
	synth_init(s, schema, cpu);
	for (unsigned int block = 0; block < 2; block++) {
		synth_task(s, 10 + (int)block, 10, "make");
		s->values[0] = (uint8_t)block + 1;
		s->values[30] = 0x81;
		synth_begin(s, time);
		class = NULL;
		while ((class = kl_schema_next(schema, class))) {
			time += 1000;
			add_any(s, class, time, (unsigned int)(time / 1000) % 7);
		}
		if (block)
			s->discarded = 3;
		synth_end(s, time + 1);
		memcpy(to + bytes, s->bytes, s->block_bytes);
		bytes += s->block_bytes;
		s->records += block;
	}
	free(s);
	return bytes;
}

static void make_ber(const char *path)
{
	struct kl_trace *trace = kl_trace_open(path);
	struct kl_buffer file = { 0 };
	struct kl_ber_writer *writer;
	struct kl_item item;

	fuzz_assert(trace);
	writer = kl_ber_writer_create(&file, kl_trace_schema(trace), kl_trace_about(trace), 0);
	while (kl_trace_next(trace, &item) > 0)
		kl_ber_writer_add(writer, &file, &item);
	kl_ber_writer_finish(writer, &file, kl_trace_counted(trace));
	save("ber", "trace", file.data, file.length);
	kl_ber_writer_destroy(writer);
	kl_trace_close(trace);
	kl_buffer_deinit(&file);
}

static void write_file(const char *folder, const char *name, const void *bytes, size_t length)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT, 0666);
	fuzz_assert(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
	close(fd);
}

static void make_traces(void)
{
	struct kl_schema *schema = fuzz_schema();
	struct kl_buffer text = { 0 };
	struct kl_trace_info info;
	static uint8_t stream[2][1 << 16], parts[1 << 18];
	size_t bytes[2], n = 0;
	char *folder = synth_directory(), path[256];

	fuzz_info(&info);
	kl_schema_set_flag(schema, 0, "on");
	kl_schema_set_rule(schema, 0, "sched_switch /pid == 1/ :count by comm");
	fuzz_assert(!kl_metadata_write(&text, schema, &info));
	save("metadata", "trace", text.data, text.length);
	write_file(folder, "metadata", text.data, text.length);
	for (unsigned int cpu = 0; cpu < 2; cpu++) {
		bytes[cpu] = make_stream(schema, cpu, stream[cpu]);
		write_file(folder, cpu ? "cpu1" : "cpu0", stream[cpu], bytes[cpu]);
		n += fuzz_part_put(parts + n, (uint8_t)(1 + cpu), stream[cpu], bytes[cpu]);
	}
	save("trace", "streams", parts, n);
	n += fuzz_part_put(parts + n, 3, stacks_text, strlen(stacks_text));
	n += fuzz_part_put(parts + n, 4, addresses_text, strlen(addresses_text));
	save("trace", "names", parts, n);
	n += fuzz_part_put(parts + n, 0, text.data, text.length);
	save("trace", "whole", parts, n);
	snprintf(path, sizeof(path), "%s/" KL_TRACE_FOLDER, folder);
	mkdir(path, 0777);
	write_file(folder, KL_STACKS_FILE, stacks_text, strlen(stacks_text));
	write_file(folder, KL_ADDRESSES_FILE, addresses_text, strlen(addresses_text));
	make_ber(folder);
	save_text("words", "stacks", stacks_text);
	save_text("words", "addresses", addresses_text);
	synth_remove(folder);
	kl_schema_destroy(schema);
	kl_buffer_deinit(&text);
}

/* A pack of a trace with few events, and the columns of one of its blocks. */
static void make_pack(void)
{
	struct kl_schema *tables = kl_schema_create(), *schema;
	char *folder = synth_directory(), trace[256], pack[256];
	static uint8_t bytes[1 << 16], part[1 << 17];
	struct synth *s = malloc(sizeof(*s));
	struct kl_buffer text = { 0 }, columns = { 0 };
	struct kl_trace_writer *writer;
	struct kl_pack_counts counts;
	struct kl_trace_info info;
	struct kl_split *split;
	const size_t *cuts;
	size_t n_cuts, n;
	int fd;

	fuzz_info(&info);
	fuzz_assert(s && !kl_metadata_write(&text, tables, &info));
	/* The first two events. */
	text.length = (size_t)(strstr(strstr(strstr(text.data, "\nevent {") + 1, "\nevent {") + 1,
				      "\nevent {") +
			       1 - text.data);
	schema = kl_metadata_parse(text.data, text.length, &info);
	snprintf(trace, sizeof(trace), "%s/trace", folder);
	snprintf(pack, sizeof(pack), "%s/pack", folder);
	writer = schema ? kl_trace_create(trace, schema, &info) : NULL;
	fuzz_assert(writer);
	synth_init(s, schema, 0);
	memcpy(s->uuid, info.uuid, sizeof(s->uuid));
	for (unsigned int block = 0; block < 2; block++) {
		const struct kl_class *class = NULL;

		synth_begin(s, 1000000 + block * 100000);
		for (unsigned int i = 0; i < 9; i++) {
			class = kl_schema_next(schema, class);
			if (class)
				add_any(s, class, 1000000 + block * 100000 + i * 100, i);
		}
		synth_end(s, 1050000 + block * 100000);
		fuzz_assert(!kl_trace_append(writer, synth_block(s), s->block_bytes));
	}
	fuzz_assert(!kl_trace_finish(writer, NULL) &&
		    !kl_pack_trace(trace, pack, false, 19, &counts));
	fd = open(pack, O_RDONLY);
	n = (size_t)read(fd, bytes, sizeof(bytes));
	close(fd);
	save("pack", "pack", part, fuzz_part_put(part, 0, bytes, n));
	split = kl_split_create(schema);
	fuzz_assert(split && !kl_split(split, s->bytes, s->block_bytes, &columns, &cuts, &n_cuts));
	memcpy(bytes, &synth_block(s)->record_count, 4);
	memcpy(bytes + 4, &synth_block(s)->committed, 4);
	memcpy(bytes + 8, columns.data, columns.length);
	save("pack", "columns", part, fuzz_part_put(part, 1, bytes, 8 + columns.length));
	kl_split_destroy(split);
	kl_buffer_deinit(&columns);
	kl_buffer_deinit(&text);
	kl_schema_destroy(schema);
	kl_schema_destroy(tables);
	synth_remove(folder);
	free(s);
}

/* The beginning of this program's .eh_frame. */
static void make_unwind(void)
{
	struct kl_elf_section section = {};
	static uint8_t bytes[1 << 12];
	int fd = open("/proc/self/exe", O_RDONLY);
	ssize_t n;

	fuzz_assert(fd >= 0 && !kl_elf_find_section(fd, ".eh_frame", &section));
	n = pread(fd, bytes + 1, sizeof(bytes) - 1, (off_t)section.offset);
	fuzz_assert(n > 0);
	bytes[0] = 1;
	save("unwind", "eh_frame", bytes, (size_t)n + 1);
	bytes[0] = 0;
	save("unwind", "debug_frame", bytes, (size_t)n + 1);
	close(fd);
}

/* -------------------------------------------------------------- the kernel's */

/* Instructions of each kind that ends a block, and a jump table. */
static const uint8_t code[] = {
	0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0x55, 0x48, 0x89, 0xe5, 0x53, 0x48,
	0x85, 0xff, 0x74, 0x12, 0x8b, 0x07, 0x83, 0xf8, 0x03, 0x77, 0x0b, 0xe8, 0x10, 0x00, 0x00,
	0x00, 0xff, 0xc0, 0x75, 0xf7, 0xeb, 0x02, 0x31, 0xc0, 0x5b, 0x5d, 0xc3, 0xcc, 0xcc, 0xcc,
	0x48, 0x8d, 0x05, 0x10, 0x00, 0x00, 0x00, 0x48, 0x63, 0x14, 0xb8, 0x48, 0x01, 0xd0, 0xff,
	0xe0, 0x0f, 0x0b, 0xf0, 0x48, 0x0f, 0xb1, 0x0e, 0xe9, 0xb7, 0xff, 0xff, 0xff, 0x90,
};

static size_t make_elf(uint8_t *to, uint16_t type, uint64_t address, const uint8_t *memory,
		       size_t bytes)
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1 },
		.e_type = type,
		.e_machine = EM_X86_64,
		.e_version = 1,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	const Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = sizeof(header) + sizeof(segment),
		.p_vaddr = address,
		.p_filesz = bytes,
		.p_memsz = bytes,
		.p_align = 1,
	};

	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), &segment, sizeof(segment));
	memcpy(to + sizeof(header) + sizeof(segment), memory, bytes);
	return sizeof(header) + sizeof(segment) + bytes;
}

static void put_relative(uint8_t *memory, uint32_t at, uint32_t target)
{
	int32_t distance = (int32_t)(target - at);

	memcpy(memory + at, &distance, sizeof(distance));
}

static void make_core(void)
{
	static const char format[] =
		"%1$llx T _stext\n%1$llx T startup\n%2$llx T work\t\n%3$llx T __x86_return_thunk\n"
		"%4$llx T _etext\n%5$llx D __start___jump_table\n%6$llx D __stop___jump_table\n"
		"%6$llx D __start___ex_table\n%7$llx D __stop___ex_table\n%7$llx D __start_rodata\n"
		"%8$llx D __end_rodata\n%8$llx d kprobe_blacklist\n%9$llx D linux_banner\n"
		"%10$llx D __start_notes\n%11$llx D __stop_notes\n%2$llx t helper\t[ext4]\n";
	static uint8_t memory[CORE_BYTES], elf[CORE_BYTES + 256], parts[2 * CORE_BYTES + 4096];
	unsigned long long base = CORE_TEXT, list = base + 0x340;
	uint64_t entry[4] = { list, list, base, base + 9 };
	uint32_t note[3] = { 4, 20, 3 };
	char text[1024];
	size_t n, length;

	memcpy(memory, code, sizeof(code));
	memcpy(memory + 0x80, code, sizeof(code));
	put_relative(memory, 0x200, 4);
	put_relative(memory, 0x204, 0x13);
	put_relative(memory, 0x280, 0x80);
	put_relative(memory, 0x284, 0x93);
	memcpy(memory + 0x300, &base, sizeof(base));
	entry[0] = base + 0x360;
	memcpy(memory + 0x340, entry, sizeof(entry));
	entry[0] = list;
	memcpy(memory + 0x360, entry, sizeof(entry));
	strcpy((char *)memory + 0x400, "Linux version 6.1.0-kernlens (x)");
	memcpy(memory + 0x480, note, sizeof(note));
	memcpy(memory + 0x48c, "GNU", 4);
	memset(memory + 0x490, 0xab, 20);
	length = (size_t)snprintf(text, sizeof(text), format, base, base + 0x80, base + 0xf0,
				  base + 0x100, base + 0x200, base + 0x280, base + 0x300,
				  base + 0x340, base + 0x400, base + 0x480, base + 0x4a4);
	n = make_elf(elf, ET_CORE, base, memory, 0x500);
	n = fuzz_part_put(parts, 0, elf, n);
	n += fuzz_part_put(parts + n, 1, text, length);
	save("core", "core", parts, n);
	save("kallsyms", "small", text, length);
}

static void make_code(void)
{
	uint8_t bytes[2 + 2 * sizeof(code)] = { 0, 0 };

	memcpy(bytes + 2, code, sizeof(code));
	memcpy(bytes + 2 + sizeof(code), code, sizeof(code));
	save("code", "program", bytes, sizeof(bytes));
	bytes[1] = 20;
	save("code", "parts", bytes, sizeof(bytes));
	bytes[0] = 1;
	save("code", "kernel", bytes, sizeof(bytes));
}

/* ------------------------------------------------------------------ programs */

/* A program from a small source, with full debug information; skipped without a compiler. */
static void make_program(const char *name, const char *options)
{
	static const char source[] =
		"static inline int twice(int x) { return x + x; }\n"
		"__attribute__((noinline)) int pick(int n) { switch (n) { case 0: return twice(n + 3);\n"
		"case 1: return 7; case 2: return n * 5; case 3: return 9; case 4: return -n; case 5:\n"
		"return n ^ 77; } return 0; }\n"
		"void _start(void) { for (int i = 0; i < 9; i++) pick(twice(i)); for (;;) ; }\n"
		"int main(void) { _start(); return 0; }\n"
		"__asm__(\".pushsection .note.stapsdt, \\\"\\\", @note; .balign 4; .4byte 8, 2f - 1f, 3;\"\n"
		"\".asciz \\\"stapsdt\\\"; 1: .8byte pick, 0, 0; .asciz \\\"seed\\\"; .asciz \\\"m\\\";\"\n"
		"\".asciz \\\"8@%rax -4@8(%rdi,%rsi,4) 4@$-5 8@$pick 8f@%xmm0\\\"; 2: .balign 4;\"\n"
		"\".popsection\");\n";
	char path[256], command[2048];
	static uint8_t bytes[1 << 20];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/a.out", root);
	snprintf(command, sizeof(command), "echo '%s' | cc -x c -o %s %s -nostdlib - 2>/dev/null",
		 source, path, options);
	if (system(command))
		return;
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
	close(fd);
	unlink(path);
	if (n <= 0)
		return;
	save("elf", name, bytes, (size_t)n);
	if (strcmp(name, "module") != 0)
		save("program", name, bytes, (size_t)n);
}

static void make_programs(void)
{
	static const char tight[] =
		" -Os -static -no-pie -Wl,-z,noseparate-code,-z,max-page-size=16,--build-id=sha1 ";
	char options[256];

	snprintf(options, sizeof(options), "%s -s -Wl,--export-dynamic", tight);
	make_program("stripped", options);
	snprintf(options, sizeof(options), "%s -O2 -fno-jump-tables", tight);
	make_program("symbols", options);
	snprintf(options, sizeof(options), "%s -O2", tight);
	make_program("tables", options);
	snprintf(options, sizeof(options), "%s -O2 -g", tight);
	make_program("lines", options);
	snprintf(options, sizeof(options), "%s -O1 -gdwarf-4", tight);
	make_program("dwarf4", options);
	make_program("module", "-c -O2 -g");
}

/* -------------------------------------------------------------------- others */

static void make_history(void)
{
	const struct kl_history_sum sum = {
		.samples = 3, .seconds = 60, .low = 1, .high = 9, .sum = 5
	};
	static uint8_t bytes[1 << 18];
	char path[256];
	struct kl_history *h;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/history.db", root);
	h = kl_history_open(path, KL_HISTORY_BYTES_MIN);
	fuzz_assert(h && !kl_history_write_begin(h));
	for (int i = 0; i < 3; i++) {
		fuzz_assert(!kl_history_write(h, 1700000040 + 60 * i, NULL, 0, 0, &sum));
		fuzz_assert(!kl_history_write(h, 1700000040 + 60 * i, "make", 1000, 2, &sum));
	}
	fuzz_assert(!kl_history_write_end(h, 1700000040, 0));
	kl_history_close(h);
	fd = open(path, O_RDONLY);
	n = read(fd, bytes, sizeof(bytes));
	fuzz_assert(n > 0);
	close(fd);
	unlink(path);
	save("history", "database", bytes, (size_t)n);
}

/* In the layout of elf_process.c's replies. */
static void make_answer(void)
{
	uint8_t bytes[256] = {};
	uint32_t numbers[3][6] = { { 0x10, 0, 7, 0x010101, 130, 135 },
				   { 0x20, 0, 9, 0x0101, 130, 135 } };

	bytes[0] = 2;
	memcpy(bytes + 80, numbers, sizeof(numbers));
	strcpy((char *)bytes + 130, "main");
	strcpy((char *)bytes + 135, "a.c");
	save("answer", "found", bytes, sizeof(bytes));
}

/* A capture of two files, one of which is cut in two. */
static void make_fleet(void)
{
	static const char head[] =
		"{\"version\":1,\"host\":\"h\",\"boot\":\"b\",\"capture\":\"c\",\"run\":\"r\","
		"\"about\":{\"reason\":\"x\",\"records\":5},\"files\":["
		"{\"name\":\"cpu0\",\"bytes\":12,\"pieces\":2,\"crc\":1},"
		"{\"name\":\".kernlens/manifest\",\"bytes\":4,\"pieces\":1,\"crc\":2}]}";
	static const char first[] = "r\0000\0000\0000\0008\0abcdefgh";
	static const char second[] = "r\0000\0001\0008\0004\0ab";
	static const char third[] = "r\0001\0000\0000\0004\0abcd";
	uint8_t parts[1024];
	size_t n = fuzz_part_put(parts, 0, head, sizeof(head) - 1);

	n += fuzz_part_put(parts + n, 1, first, sizeof(first) - 1);
	n += fuzz_part_put(parts + n, 1, second, sizeof(second) - 1);
	n += fuzz_part_put(parts + n, 1, second, sizeof(second) - 1);
	n += fuzz_part_put(parts + n, 1, third, sizeof(third) - 1);
	save("fleet", "capture", parts, n);
}

int main(int argc, char **argv)
{
	uint8_t types[4096];

	root = argc > 1 ? argv[1] : "seeds";
	if (mkdir(root, 0777) && errno != EEXIST)
		return 1;
	make_unwind();
	make_traces();
	make_pack();
	save("btf", "types", types, types_make(types));
	make_core();
	make_code();
	make_programs();
	make_history();
	make_answer();
	make_fleet();
	return 0;
}
