// SPDX-License-Identifier: GPL-2.0
/*
 * USDT markers: operands of every kind are parsed, and compiled to programs that read them; notes of
 * a program, and of one whose bytes are changed at random.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kernlens/error.h>
#include <kernlens/usdt.h>
#include "../../../lib/symbol/usdt_argument.h"
#include "evaluate.h"
#include "unit.h"

#define MUTANTS 3000

static struct machine machine;

/* The only symbol that there is. */
static bool find(void *data, const char *name, uint64_t *address)
{
	*address = 0x5000;
	return !strcmp(name, "kl_known.0");
}

static struct kl_usdt_argument parse(const char *text, bool is_32, bool is_fixed)
{
	const struct kl_usdt_file file = {
		.is_32 = is_32, .is_fixed = is_fixed, .address = 0x1100, .find = find
	};
	struct kl_usdt_argument argument[KL_USDT_ARGUMENTS_MAX];

	if (kl_usdt_parse(&file, text, argument) != 1)
		abort();
	return argument[0];
}

/* ----------------------------------------------------------------- operands */

#define RIP (USER_BASE + 0x300)

/* The values of the machine in run(). */
static const struct {
	const char *text;
	bool is_32, is_fixed;
	uint64_t value;
	uint8_t bytes;
	bool is_signed;
} operands[] = {
	{ "8@%rax", 0, 0, 0x8877665544332211, 8, false },
	{ "-8@%rax", 0, 0, 0x8877665544332211, 8, true },
	{ "4@%eax", 0, 0, 0x44332211, 4, false },
	{ "-4@%eax", 0, 0, 0x44332211, 4, true },
	{ "-4@%r9d", 0, 0, -2ull, 4, true },
	{ "4@%r9d", 0, 0, 0xfffffffe, 4, false },
	{ "2@%ax", 0, 0, 0x2211, 2, false },
	{ "1@%al", 0, 0, 0x11, 1, false },
	{ "1@%ah", 0, 0, 0x22, 1, false },
	{ "-1@%r9b", 0, 0, -2ull, 1, true },
	{ "2@%r9w", 0, 0, 0xfffe, 2, false },
	{ "8@%r15", 0, 0, 15, 8, false },
	{ "8@%rip", 0, 0, RIP, 8, false },
	{ "%rax", 0, 0, 0x8877665544332211, 8, false },
	{ "%eax", 1, 1, 0x44332211, 4, false },
	{ "8@$0", 0, 0, 0, 8, false },
	{ "4@$5", 0, 0, 5, 4, false },
	{ "-4@$-5", 0, 0, -5ull, 4, true },
	{ "4@$-5", 0, 0, 0xfffffffb, 4, false },
	{ "-8@$0x7fffffffffffffff", 0, 0, 0x7fffffffffffffff, 8, true },
	{ "8@$-1", 0, 0, ~0ull, 8, false },
	/* Each byte of the user's memory is its offset, from 0 to 255. */
	{ "8@(%rdi)", 0, 0, 0x1716151413121110, 8, false },
	{ "8@-8(%rdi)", 0, 0, 0x0f0e0d0c0b0a0908, 8, false },
	{ "4@0x10(%rdi)", 0, 0, 0x23222120, 4, false },
	{ "2@0x10+4(%rdi)", 0, 0, 0x2524, 2, false },
	{ "1@4-8+4(%rdi)", 0, 0, 0x10, 1, false },
	{ "-1@0xf0(%rdi)", 0, 0, 0, 1, true },
	{ "-1@0xe0(%rdi)", 0, 0, -16ull, 1, true },
	{ "-2@223(%rdi)", 0, 0, -3857ull, 2, true },
	{ "4@(%rdi,%rsi)", 0, 0, 0x16151413, 4, false },
	{ "4@8(%rdi,%rsi,4)", 0, 0, 0x27262524, 4, false },
	{ "2@-8(%rdi,%rsi,8)", 0, 0, 0x2120, 2, false },
	{ "1@8(,%rdi,1)", 0, 0, 0x18, 1, false },
	/* The file's 0x1100 is at RIP, so its 0x5000 would be 0x3f00 bytes further on. */
	{ "8@$kl_known.0", 0, 0, RIP + 0x3f00, 8, false },
	{ "8@$kl_known.0+8", 0, 0, RIP + 0x3f08, 8, false },
	{ "8@$kl_known.0", 0, 1, 0x5000, 8, false },
	{ "1@kl_known.0-0x3fff(%rip)", 0, 0, 1, 1, false },
	{ "1@kl_known.0-0x3ffe", 0, 0, 2, 1, false },
	{ "1@-0x3ffd+kl_known.0", 0, 0, 3, 1, false },
	{ "4@kl_known.0", 1, 1, 0, 4, false },
};

static const struct {
	const char *text;
	const char *why;
} failures[] = {
	{ "8f@%xmm0", "is a floating-point number" },
	{ "-4f@8(%rsp)", "is a floating-point number" },
	{ "8@%xmm0", "is in a floating-point or vector register" },
	{ "8@%st", "is in a floating-point or vector register" },
	{ "16@(%rdi)", "is not a number of 1, 2, 4 or 8 bytes" },
	{ "3@%eax", "is not a number of 1, 2, 4 or 8 bytes" },
	{ "8@%fs:16", "is thread-local data" },
	{ "8@%fs:(%rax)", "is thread-local data" },
	{ "8@%rzz", "is in an unknown register" },
	{ "8@%r7", "is in an unknown register" },
	{ "8@%r16", "is in an unknown register" },
	{ "8@%r8x", "is in an unknown register" },
	{ "8@other(%rip)", "is at a symbol that the file's symbol table does not have" },
	{ "8@kl_known.0@GOTPCREL(%rip)", "is found through the global offset table" },
	{ "8@16(%rip)", "is relative to an unknown instruction" },
	{ "8@kl_known.0(%rax)", "is at an address that depends on where the file is loaded" },
	{ "8@", "has a damaged description" },
	{ "@%rax", "has a damaged description" },
	{ "-@%rax", "has a damaged description" },
	{ "8@%", "has a damaged description" },
	{ "8@$", "has a damaged description" },
	{ "8@$x+", "is at a symbol that the file's symbol table does not have" },
	{ "8@%raxx", "is in an unknown register" },
	{ "8@%rax,", "has a damaged description" },
	{ "8@(%rax", "has a damaged description" },
	{ "8@()", "has a damaged description" },
	{ "8@(%rax,%rbx,3)", "has a damaged description" },
	{ "8@(%rax,%rbx,4", "has a damaged description" },
	{ "8@(%rax,)", "has a damaged description" },
	{ "8@8(%rax)x", "has a damaged description" },
	{ "8@--8(%rax)", "has a damaged description" },
	{ "8@kl_known.0+kl_known.0", "has a damaged description" },
	{ "8@-kl_known.0", "has a damaged description" },
	{ "8@%abcdefghijklmnopqrstuvwxyz", "has a damaged description" },
	{ "hello", "is at a symbol that the file's symbol table does not have" },
};

static void test_parse(void)
{
	struct kl_usdt_argument many[KL_USDT_ARGUMENTS_MAX];
	const struct kl_usdt_file file = { .find = find };
	unsigned int wrong = 0;
	char text[400];

	for (size_t i = 0; i < sizeof(operands) / sizeof(*operands); i++) {
		struct kl_usdt_argument a =
			parse(operands[i].text, operands[i].is_32, operands[i].is_fixed);

		if (!a.why && a.kind != KL_USDT_NONE && a.bytes == operands[i].bytes &&
		    a.is_signed == operands[i].is_signed)
			continue;
		printf("# %s: %s\n", operands[i].text, a.why ? a.why : "size or sign");
		wrong++;
	}
	unit_check(!wrong, "operands are parsed");
	for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++) {
		struct kl_usdt_argument a = parse(failures[i].text, false, false);

		if (a.kind == KL_USDT_NONE && a.why && !strcmp(a.why, failures[i].why))
			continue;
		printf("# %s: %s\n", failures[i].text, a.why ? a.why : "is parsed");
		wrong++;
	}
	unit_check(!wrong, "others are refused, for the right reason");
	unit_check(kl_usdt_parse(&file, "", many) == 0 && kl_usdt_parse(&file, "  ", many) == 0,
		   "a marker without arguments");
	unit_check(kl_usdt_parse(&file, " 8@%rax  -4@8(%rsp) 4@$3 ", many) == 3 &&
			   many[1].is_signed && many[2].number == 3,
		   "several arguments");
	memset(text, '8', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	unit_check(kl_usdt_parse(&file, text, many) == 1 && many[0].kind == KL_USDT_NONE,
		   "one that is too long");
	for (size_t i = 0; i + 1 < sizeof(text); i += 2)
		memcpy(text + i, "% ", 2);
	unit_check(kl_usdt_parse(&file, text, many) == KL_USDT_ARGUMENTS_MAX, "too many");
}

/* ----------------------------------------------------------------- programs */

static void reset(void)
{
	memset(&machine, 0, sizeof(machine));
	for (size_t i = 0; i < sizeof(machine.user); i++)
		machine.user[i] = (uint8_t)i;
	machine.argument[0] = 0x8877665544332211;
	machine.argument[6] = 3;
	machine.argument[7] = USER_BASE + 0x110;
	machine.argument[9] = 0xabcdef00fffffffe;
	machine.argument[15] = 15;
	machine.argument[KL_BLOCK_IP] = RIP;
}

/* A marker whose location has one argument, in the scope. */
static struct kl_usdt_marker set_scope(struct kl_scope *scope, struct kl_usdt_location *location)
{
	struct kl_usdt_marker marker = {
		.provider = "p",
		.name = "n",
		.n_locations = 1,
		.location = location,
		.n_arguments = location->n_arguments,
	};

	for (unsigned int i = 0; i < marker.n_arguments; i++)
		marker.type[i] = (struct kl_usdt_type){ location->argument[i].bytes,
							location->argument[i].is_signed,
							location->argument[i].why };
	kl_scope_set_usdt(scope, &marker, location);
	return marker;
}

static bool gives(struct kl_scope *scope, const char *text, uint64_t value)
{
	struct kl_code code;
	const char *why;
	uint64_t got;

	if (kl_expression_compile(scope, "filter", text, 0, &code)) {
		printf("# %s\n", kl_error_text());
		return false;
	}
	why = check_code(&code);
	got = why ? 0 : evaluate(&code, &machine);
	if (!why && got == value)
		return true;
	printf("# %s: %#llx, expected %#llx; %s\n", text, (unsigned long long)got,
	       (unsigned long long)value, why ? why : "");
	return false;
}

static void test_values(struct kl_scope *scope)
{
	struct kl_usdt_location location = { .n_arguments = 1 };
	unsigned int wrong = 0, faults = 0;

	reset();
	for (size_t i = 0; i < sizeof(operands) / sizeof(*operands); i++) {
		bool unmapped = operands[i].is_32 && operands[i].text[1] == '@';

		location.argument[0] =
			parse(operands[i].text, operands[i].is_32, operands[i].is_fixed);
		set_scope(scope, &location);
		machine.fault = false;
		if (!gives(scope, "arg1", operands[i].value)) {
			printf("# operand %s\n", operands[i].text);
			wrong++;
		}
		faults += machine.fault != unmapped;
	}
	unit_check(!wrong, "programs read the right values");
	unit_check(!faults, "and only memory that is there");

	/* The sum of a 32-bit address wraps. */
	machine.argument[7] = 0xffffffffull;
	location.argument[0] = parse("4@8(%edi,%esi,4)", true, true);
	location.argument[0].kind = KL_USDT_ADDRESS;
	set_scope(scope, &location);
	unit_check(gives(scope, "arg1", 19), "addresses of 32 bits wrap");
	machine.argument[7] = USER_BASE + 0x110;
}

static void test_expressions(struct kl_scope *scope)
{
	struct kl_usdt_location location = { .n_arguments = 4 };
	struct kl_capture capture;
	struct kl_usdt_marker marker;
	uint8_t out[12];
	uint64_t r9 = 0xabcdef00fffffffe;

	reset();
	location.argument[0] = parse("-4@%r9d", false, false);
	location.argument[1] = parse("8@8(%rdi,%rsi,4)", false, false);
	location.argument[2] = parse("8f@%xmm0", false, false);
	location.argument[3] = parse("-1@$-3", false, false);
	marker = set_scope(scope, &location);
	unit_check(gives(scope, "arg1 * 3 - arg4", -3ull), "an expression");
	unit_check(gives(scope, "((arg2 + arg2) * (arg2 - arg1)) - ((arg2 + 1) ^ (arg1 + arg2))",
			 ((0x2b2a292827262524ull * 2) * (0x2b2a292827262524ull + 2)) -
				 (0x2b2a292827262525ull ^ (0x2b2a292827262524ull - 2))),
		   "a nested expression of arguments in memory");
	unit_check(gives(scope, "*user((u16 *)(arg2 - arg2 + 0x7f0000000044))", 0x4544),
		   "an argument as an address");
	unit_check(kl_expression_compile(scope, "filter", "arg3", 0, &capture.code) == -EINVAL &&
			   strstr(kl_error_text(), "is a floating-point number"),
		   "an argument that cannot be read is named, with the reason");
	unit_check(kl_expression_compile(scope, "filter", "arg5", 0, &capture.code) == -EINVAL,
		   "one that does not exist is an error");

	/* At another location, an argument may be wider. */
	marker.type[0] = (struct kl_usdt_type){ 8, true, NULL };
	kl_scope_set_usdt(scope, &marker, &location);
	unit_check(!kl_capture_init(&capture, KL_EV_DYNAMIC, "usdt:x:p:n", "defined", "help") &&
			   !kl_capture_arguments(&capture, scope) &&
			   capture.event_class.n_fields == 3 &&
			   capture.event_class.tail_bytes == 17,
		   "a capture has the fields that can be read");
	unit_check(strstr(capture.note, "arg3 is a floating-point number: omitted"),
		   "and notes the others");
	unit_check(!check_code(&capture.code), "its program is valid");
	evaluate(&capture.code, &machine);
	r9 = (uint64_t)(int64_t)(int32_t)r9;
	memcpy(out, &r9, 8);
	unit_check(machine.out_bytes == 17 && !memcmp(machine.out, out, 8) &&
			   !memcmp(machine.out + 8, "\x24\x25\x26\x27\x28\x29\x2a\x2b\xfd", 9),
		   "and outputs the values, as wide as the fields");
}

/* -------------------------------------------------------------------- files */

static int make_file(const uint8_t *bytes, size_t n, char path[64])
{
	int fd = memfd_create("usdt", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static uint8_t *read_program(size_t *bytes)
{
	FILE *file = fopen(KL_TEST_USDT, "re");
	uint8_t *copy = malloc(1 << 20);

	if (!file || !copy)
		abort();
	*bytes = fread(copy, 1, 1 << 20, file);
	fclose(file);
	return copy;
}

static void test_file(void)
{
	struct kl_usdt *usdt = kl_usdt_open(KL_TEST_USDT);
	const struct kl_usdt_marker *marker;
	size_t n = 0, position = 0, sorted = 0;

	if (!unit_check(usdt, "the markers of a program"))
		return;
	for (; (marker = kl_usdt_marker(usdt, n)); n++)
		if (n)
			sorted += strcmp(kl_usdt_marker(usdt, n - 1)->name, marker->name) < 0;
	unit_check(n == 8 && sorted == n - 1, "are sorted");
	marker = kl_usdt_next(usdt, "kl*", "tw?ce", &position);
	unit_check(marker && marker->n_locations == 2 && marker->n_arguments == 2 &&
			   !marker->type[0].why && marker->type[0].bytes == 8 &&
			   marker->type[0].is_signed && marker->type[1].why,
		   "one with two locations");
	unit_check(!kl_usdt_next(usdt, "kl*", "tw?ce", &position), "is one marker");
	unit_check(kl_usdt_fail_unknown(usdt, "FILE", "kltest", "gaurded") == -ENOENT &&
			   strstr(kl_error_text(), "FILE has no USDT marker kltest:gaurded; did "
						   "you mean kltest:guarded?"),
		   "an unknown name: the nearest one");
	unit_check(kl_usdt_fail_unknown(usdt, "FILE", "kltset", "guarded") == -ENOENT &&
			   strstr(kl_error_text(), "did you mean kltest:guarded?"),
		   "an unknown provider: the nearest one");
	kl_usdt_fail_unknown(usdt, "FILE", "kltest", "zzzzzzzz");
	unit_check(strstr(kl_error_text(), "kernlens list usdt:FILE lists"), "none is near");
	kl_usdt_fail_unknown(usdt, "FILE", "kltest", "z*");
	unit_check(strstr(kl_error_text(), "no USDT marker of FILE matches \"kltest:z*\""),
		   "a pattern");
	kl_usdt_close(usdt);

	usdt = kl_usdt_open("/proc/self/exe");
	unit_check(usdt && !kl_usdt_marker(usdt, 0), "a program without markers is no error");
	kl_usdt_fail_unknown(usdt, "FILE", "a", "b");
	unit_check(!strcmp(kl_error_text(), "FILE has no USDT markers"), "but says so");
	kl_usdt_close(usdt);
	unit_check(!kl_usdt_open("/etc/passwd") && errno == EINVAL, "a text");
	unit_check(!kl_usdt_open("/no/such/file") && errno == ENOENT, "no file");
}

/* Where the first note is in the file. */
static size_t find_notes(const uint8_t *bytes, size_t n)
{
	const uint8_t *found = memmem(bytes, n, "stapsdt", 8);

	if (!found)
		abort();
	return (size_t)(found - bytes);
}

static void test_damaged(void)
{
	size_t bytes, notes;
	uint8_t *good = read_program(&bytes), *copy = malloc(bytes);
	unsigned int opened = 0, refused = 0;
	uint64_t seed = 1;
	char path[64];

	notes = find_notes(good, bytes) - 12;
	for (unsigned int i = 0; i < MUTANTS; i++) {
		struct kl_usdt *usdt;
		int fd;

		memcpy(copy, good, bytes);
		for (unsigned int k = 0; k < 1 + i % 4; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			/* In the notes, or anywhere in the tables before and after. */
			copy[i % 3 ? notes + (seed >> 33) % 900 : (seed >> 33) % bytes] =
				(uint8_t)(seed >> 24);
		}
		fd = make_file(copy, bytes, path);
		usdt = kl_usdt_open(path);
		usdt ? opened++ : refused++;
		for (size_t m = 0; usdt && kl_usdt_marker(usdt, m); m++)
			if (!kl_usdt_marker(usdt, m)->n_locations)
				abort();
		kl_usdt_close(usdt);
		close(fd);
	}
	unit_check(opened > 100 && refused > 100, "damaged files are read or refused");
	printf("# %u read, %u refused\n", opened, refused);
	free(copy);
	free(good);
}

int main(void)
{
	struct kl_scope *scope = kl_scope_create(NULL, NULL);

	if (!scope)
		return 1;
	test_parse();
	test_values(scope);
	test_expressions(scope);
	test_file();
	test_damaged();
	kl_scope_destroy(scope);
	return unit_end();
}
