// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind tables of programs and libraries as Debian ships them, against libdw; the same files with
 * random damage; walks of copied stacks; libraries by name.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../lib/symbol/elf_unwind.h"
#include "../../../lib/symbolize/callers.h"
#include "../../../lib/symbolize/libraries.h"
#include "unit.h"

#define REGISTER_BP 6
#define REGISTER_SP 7
#define REGISTER_RA 16
#define ROWS_TESTED 20000u
#define DAMAGED 300

static const char *const files[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib64/ld-linux-x86-64.so.2",
	"/bin/bash",
	"/usr/bin/git",
	"/usr/bin/python3",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
};

/* ------------------------------------------------------------- what libdw says */

/* The member b for a saved frame pointer, as far as it is relative to the CFA. */
static uint32_t bp_of(Dwarf_Frame *frame)
{
	Dwarf_Op memory[3], *ops;
	size_t n;
	int64_t offset;

	if (dwarf_frame_register(frame, REGISTER_BP, memory, &ops, &n))
		return KL_UNWIND_B_LOST;
	if (!n)
		return ops ? KL_UNWIND_B_LOST : KL_UNWIND_B_SAME;
	offset = n > 1 ? (int64_t)ops[1].number : 0;
	if (ops[0].atom != DW_OP_call_frame_cfa || n > 2 ||
	    (n == 2 && ops[1].atom != DW_OP_plus_uconst) || offset >= 0 || offset % 8 ||
	    -offset / 8 > (int64_t)KL_UNWIND_B_CFA_MAX)
		return KL_UNWIND_B_LOST;
	return (uint32_t)(-offset / 8);
}

/* Is the return address below the CFA? *@end: it has none. */
static bool has_return(Dwarf_Frame *frame, bool *end)
{
	Dwarf_Op memory[3], *ops;
	size_t n;

	*end = false;
	if (dwarf_frame_register(frame, REGISTER_RA, memory, &ops, &n))
		return false;
	*end = !n && ops;
	return n == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst &&
	       (int64_t)ops[1].number == -8;
}

/* The rule; KL_UNWIND_NONE also for those that only the compiler of tables knows. */
static uint32_t expected(Dwarf_CFI *cfi, uint64_t address, bool *simple)
{
	Dwarf_Frame *frame;
	uint32_t rule = KL_UNWIND_NONE;
	Dwarf_Op *ops;
	size_t n;
	bool end;

	*simple = true;
	if (dwarf_cfi_addrframe(cfi, address, &frame))
		return KL_UNWIND_NONE;
	if (!has_return(frame, &end)) {
		*simple = end;
		rule = end ? KL_UNWIND_END : KL_UNWIND_NONE;
	} else if (dwarf_frame_cfa(frame, &ops, &n) || n != 1 || ops[0].atom != DW_OP_bregx ||
		   (ops[0].number != REGISTER_SP && ops[0].number != REGISTER_BP)) {
		*simple = false;
	} else {
		rule = kl_unwind_rule(ops[0].number == REGISTER_SP ? KL_UNWIND_SP : KL_UNWIND_BP,
				      (uint32_t)ops[0].number2 / 8, bp_of(frame));
	}
	free(frame);
	return rule;
}

static bool to_address(Elf *elf, uint64_t place, uint64_t *address)
{
	size_t n = 0;
	GElf_Phdr header;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    !(header.p_flags & PF_X) || place < header.p_offset ||
		    place - header.p_offset >= header.p_filesz)
			continue;
		*address = place - header.p_offset + header.p_vaddr;
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------- tests */

static bool is_ordered(const struct kl_cfi_table *table)
{
	for (size_t i = 0; i < table->n; i++)
		if (!kl_unwind_rule_is_valid(table->row[i].rule) ||
		    (i && table->row[i].offset <= table->row[i - 1].offset))
			return false;
	return !table->n || table->row[table->n - 1].rule == KL_UNWIND_NONE;
}

/*
 * At the first and the last address of rows. Some rules libdw reports in another form; these are
 * only counted.
 */
static void compare(const char *name, Elf *elf, const struct kl_cfi_table *table)
{
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
	size_t every = table->n / ROWS_TESTED + 1, tested = 0, others = 0, wrong = 0;
	char text[256], why[256] = "";

	for (size_t i = 0; cfi && i + 1 < table->n; i += every) {
		uint64_t place[2] = { table->row[i].offset, table->row[i + 1].offset - 1 };

		for (int k = 0; k < 2; k++) {
			uint32_t rule = kl_cfi_find(table, place[k]), want;
			uint64_t address;
			bool simple;

			/* libdw knows nothing there. */
			if (rule == kl_unwind_rule(KL_UNWIND_OTHER, KL_UNWIND_PARENT, 0) ||
			    !to_address(elf, place[k], &address))
				continue;
			want = expected(cfi, address, &simple);
			tested++;
			others += !simple;
			if (!simple || rule == want)
				continue;
			wrong++;
			snprintf(why, sizeof(why), "at %#llx: rule %#x, libdw: %#x",
				 (unsigned long long)place[k], rule, want);
		}
	}
	snprintf(text, sizeof(text), "%s: the rules are libdw's", name);
	unit_result(tested > 100 && !wrong && others * 100 <= tested, text, why);
	printf("# %zu addresses, %zu with rules of another kind, %zu wrong\n", tested, others,
	       wrong);
	if (cfi)
		dwarf_cfi_end(cfi);
}

/* Code that compilers have made has rules of the simple kinds nearly everywhere. */
static void count_kinds(const char *name, const struct kl_cfi_table *table)
{
	size_t simple = 0, other = 0;
	char text[256];

	for (size_t i = 0; i < table->n; i++) {
		uint32_t kind = kl_unwind_kind_of(table->row[i].rule);

		simple += kind == KL_UNWIND_SP || kind == KL_UNWIND_BP;
		other += kind > KL_UNWIND_BP;
	}
	snprintf(text, sizeof(text), "%s: nearly all rules are simple", name);
	unit_check(simple > 100 && other * 500 < simple, text);
}

/* In the C library, vfork() and clone() have rules of their own. */
static void test_calls(const struct kl_cfi_table *table)
{
	unsigned int in_di = 0, parent = 0;

	for (size_t i = 0; i < table->n; i++) {
		in_di += table->row[i].rule == kl_unwind_rule(KL_UNWIND_OTHER, KL_UNWIND_IN_DI, 0);
		parent += table->row[i].rule ==
			  kl_unwind_rule(KL_UNWIND_OTHER, KL_UNWIND_PARENT, 0);
	}
	unit_check(in_di == 1 && parent == 2, "the C library's vfork(), clone() and clone3()");
}

/* Exported functions begin where the index of .eh_frame says, seen from their last byte. */
static void test_starts(const char *name, Elf *elf)
{
	unsigned int n = 0, right = 0;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;
	char text[128];

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data = gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM ?
					 elf_getdata(section, NULL) :
					 NULL;

		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			uint64_t start = 0;

			if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
			    symbol.st_shndx == SHN_UNDEF || !symbol.st_size)
				continue;
			n++;
			right += kl_elf_function_start(elf, symbol.st_value + symbol.st_size - 1,
						       &start) &&
				 start == symbol.st_value;
		}
	}
	snprintf(text, sizeof(text), "%s: %u of %u exported functions begin where they should",
		 name, right, n);
	unit_result(right >= n - n / 100, text, NULL);
}

static void test_file(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	struct kl_cfi_table table = {};
	char text[256];

	if (!elf) {
		printf("ok %d - %s # SKIP not installed\n", ++unit_state.tests, name);
		return;
	}
	snprintf(text, sizeof(text), "%s has an unwind table", name);
	unit_check(!kl_elf_unwind(elf, NULL, &table) && table.n > 100 && is_ordered(&table), text);
	compare(name, elf, &table);
	count_kinds(name, &table);
	test_starts(name, elf);
	if (strstr(name, "libc.so"))
		test_calls(&table);
	kl_cfi_deinit(&table);
	elf_end(elf);
	close(fd);
}

/* A section of random bytes, and .eh_frame of this program with some bytes changed. */
static void test_damage(void)
{
	const struct kl_cfi_segment code = { 0, 0, 1ull << 31 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	bool ordered = true;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t strings = 0, rows = 0;

	elf_getshdrstrndx(elf, &strings);
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) &&
		    !strcmp(elf_strptr(elf, strings, header.sh_name), ".eh_frame"))
			break;
	if (!unit_check(section, "this program has .eh_frame"))
		return;
	srandom(20);
	for (int i = 0; i < DAMAGED; i++) {
		const Elf_Data *data = elf_getdata(section, NULL);
		size_t bytes = i % 3 ? data->d_size : (size_t)random() % data->d_size;
		uint8_t *copy = malloc(bytes ? bytes : 1);
		const struct kl_cfi_section damaged = { copy, bytes, header.sh_addr, true };
		struct kl_cfi_table table = {};

		memcpy(copy, data->d_buf, bytes);
		for (int k = 0; bytes && k < 1 << (i % 12); k++)
			copy[(size_t)random() % bytes] = (uint8_t)random();
		ordered &= !kl_cfi_add(&table, &damaged, &code, 1);
		kl_cfi_finish(&table);
		ordered &= is_ordered(&table);
		rows += table.n;
		kl_cfi_deinit(&table);
		free(copy);
	}
	unit_check(ordered, "damaged sections give valid tables");
	unit_check(rows > DAMAGED, "and some rows");
	elf_end(elf);
	close(fd);
}

/* The module's arithmetic for members of rules. */
static void test_members(void)
{
	uint32_t rule = kl_unwind_rule(KL_UNWIND_AT_BP, kl_unwind_de(-1, 3), KL_UNWIND_B_BP_ZERO);

	unit_check(kl_unwind_kind_of(rule) == KL_UNWIND_AT_BP && kl_unwind_d(rule) == -1 &&
			   kl_unwind_e(rule) == 3 && kl_unwind_b(rule) == KL_UNWIND_B_BP_ZERO,
		   "the members of a rule");
	rule = kl_unwind_rule(KL_UNWIND_AT_SP, kl_unwind_de(511, 63), KL_UNWIND_B_LOST);
	unit_check(kl_unwind_d(rule) == 511 && kl_unwind_e(rule) == 63 &&
			   kl_unwind_b(rule) == KL_UNWIND_B_LOST,
		   "their largest values");
	unit_check(!kl_unwind_rule_is_valid(kl_unwind_rule(KL_UNWIND_END, 1, 0)) &&
			   !kl_unwind_rule_is_valid(kl_unwind_rule(KL_UNWIND_PLT, 16, 0)) &&
			   !kl_unwind_rule_is_valid(kl_unwind_rule(KL_UNWIND_OTHER, 3, 0)) &&
			   !kl_unwind_rule_is_valid(
				   kl_unwind_rule(KL_UNWIND_SP, 1, KL_UNWIND_B_BP_ZERO)) &&
			   kl_unwind_rule_is_valid(kl_unwind_rule(KL_UNWIND_SP, 1, 2)),
		   "rules that do not exist are invalid");
}

/* ------------------------------------------------------------ copied stacks */

#define CODE 0x400000u
#define STACK 0x7ffd00000000u
#define COPY_WORDS 16u

struct copied_stack {
	struct kl_abi_stack_copy head;
	struct kl_abi_stack_range range;
	uint64_t word[COPY_WORDS];
};

/* A function that needs no frame pointer, one that has one, the outermost, and no function. */
static struct kl_unwind_row rows[] = {
	{ 0x1000, KL_UNWIND_SP | 2u << KL_UNWIND_A_SHIFT },
	{ 0x1100, KL_UNWIND_BP | 2u << KL_UNWIND_A_SHIFT | 2u << KL_UNWIND_B_SHIFT },
	{ 0x1200, KL_UNWIND_END },
	{ 0x1300, KL_UNWIND_NONE },
};

static const struct kl_cfi_table *give_table(void *of, uint32_t number)
{
	return number == 7 ? of : NULL;
}

static struct copied_stack make_copy(void)
{
	return (struct copied_stack){
		.head = { .sp = STACK,
			  .bp = STACK + 32,
			  .words = COPY_WORDS,
			  .ranges = 1,
			  .bp_known = 1,
			  .frames = KL_STACK_FRAMES_MAX },
		.range = { CODE, 0x10000, 7ull << KL_STACK_PLACE_SHIFT },
		.word = { [1] = CODE + 0x1110, [4] = 0x1234, [5] = CODE + 0x1210 },
	};
}

static struct kl_user_trace find_callers(const struct copied_stack *copy, void *table)
{
	/* The second frame is the module's guess. */
	struct kl_user_trace trace = {
		.about = { .frames = 2,
			   .certain = 1,
			   .kind = KL_STACK_USER,
			   .flags = KL_STACK_COPY | KL_STACK_EXACT |
				    KL_STACK_NO_TABLE << KL_STACK_DOUBT_SHIFT },
		.address = { CODE + 0x1010, 0x99 },
	};

	kl_callers_find(&trace, (const uint8_t *)copy, give_table, table);
	return trace;
}

static unsigned int doubt_of(const struct kl_user_trace *trace)
{
	return trace->about.flags >> KL_STACK_DOUBT_SHIFT;
}

static void test_callers(void)
{
	struct kl_cfi_table table = { .row = rows, .n = 4 };
	struct copied_stack copy = make_copy();
	struct kl_user_trace trace = find_callers(&copy, &table);

	unit_check(kl_copy_bytes((const uint8_t *)&copy) == sizeof(copy), "the size of a copy");
	unit_check(trace.about.frames == 3 && trace.about.certain == 3 &&
			   trace.about.flags == KL_STACK_EXACT &&
			   trace.address[0] == CODE + 0x1010 && trace.address[1] == CODE + 0x1110 &&
			   trace.address[2] == CODE + 0x1210 &&
			   trace.place[2] == (7ull << KL_STACK_PLACE_SHIFT | 0x1210),
		   "a trace is finished with a copy of its stack");
	copy.head.bp_known = 0;
	trace = find_callers(&copy, &table);
	unit_check(trace.about.frames == 2 && trace.address[1] == CODE + 0x1110 &&
			   doubt_of(&trace) == KL_STACK_NO_RULE,
		   "a frame pointer that is not known is not used");
	copy = make_copy();
	copy.head.frames = 2;
	trace = find_callers(&copy, &table);
	unit_check(trace.about.frames == 2 && trace.about.flags == (KL_STACK_EXACT | KL_STACK_CUT),
		   "it has no more frames than the session wants");
	copy = make_copy();
	copy.head.words = 5;
	trace = find_callers(&copy, &table);
	unit_check(trace.about.frames == 2 && doubt_of(&trace) == KL_STACK_NOT_READABLE,
		   "it ends where the copy ends");
	copy = make_copy();
	copy.word[1] = CODE + 0x20000;
	trace = find_callers(&copy, &table);
	unit_check(trace.about.frames == 2 && doubt_of(&trace) == KL_STACK_NO_FILE,
		   "and at code that is in no file");
	copy.word[1] = 0x10;
	trace = find_callers(&copy, &table);
	unit_check(trace.about.frames == 2 && trace.address[1] == 0x99 &&
			   trace.about.certain == 1 && doubt_of(&trace) == KL_STACK_NO_TABLE,
		   "without a caller, what the module has guessed stays");
	table.n = 0;
	copy = make_copy();
	trace = find_callers(&copy, &table);
	unit_check(trace.about.certain == 1 && trace.address[1] == 0x99 &&
			   !(trace.about.flags & KL_STACK_COPY),
		   "also without a table");
}

/* Stacks and rules of random numbers. */
static void test_random_stacks(void)
{
	struct kl_cfi_table table = { .row = rows, .n = 4 };
	unsigned int wrong = 0, longest = 0;

	srandom(1);
	for (unsigned int i = 0; i < 100000; i++) {
		struct copied_stack copy = make_copy();
		struct kl_user_trace trace;

		for (unsigned int k = 0; k < COPY_WORDS; k++)
			copy.word[k] = random() % 2 ?
					       CODE + 0xf00u + (uint64_t)random() % 0x500 :
					       STACK + (uint64_t)random() % sizeof(copy.word);
		copy.head.words = (uint32_t)random() % (COPY_WORDS + 1);
		copy.head.bp = STACK + (uint64_t)random() % sizeof(copy.word);
		rows[1].rule = kl_unwind_rule((enum kl_unwind_kind)(random() % 7),
					      (uint32_t)random() % 8, (uint32_t)random() % 6);
		trace = find_callers(&copy, &table);
		wrong += trace.about.frames < 1 || trace.about.certain > trace.about.frames;
		if (trace.about.frames > longest)
			longest = trace.about.frames;
	}
	unit_check(!wrong && longest > 4, "random stacks do no harm");
}

static void test_libraries(void)
{
	struct kl_libraries *libraries = kl_libraries_create();
	const char *path = kl_libraries_find(libraries, "libc.so.6");
	size_t bytes = 0;
	char *vdso = kl_vdso_find(&bytes);
	struct kl_cfi_table table = {};
	Elf *elf;

	unit_check(path && !access(path, R_OK), "the C library is found by its name");
	unit_check(!kl_libraries_find(libraries, "libnone.so.1"), "an unknown library is not");
	kl_libraries_destroy(libraries);
	if (!unit_check(vdso && bytes, "the vDSO is found"))
		return;
	elf = elf_memory(vdso, bytes);
	unit_check(elf && !kl_elf_unwind(elf, NULL, &table) && table.n > 10 && is_ordered(&table),
		   "it has an unwind table");
	kl_cfi_deinit(&table);
	elf_end(elf);
}

int main(void)
{
	elf_version(EV_CURRENT);
	test_members();
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		test_file(files[i]);
	test_damage();
	test_callers();
	test_random_stacks();
	test_libraries();
	return unit_end();
}
