/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A system call whose arguments are printed as strace prints them: what strace.c knows of it, and
 * the printers of its arguments. call.c calls the printers that calls.def names.
 */
#ifndef KL_LIB_REPORT_STRACE_CALL_H
#define KL_LIB_REPORT_STRACE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/buffer.h>
#include <kernlens/event.h>

#define KL_CALL_ARGUMENTS_MAX 6

/* strace's limits: characters of a string, elements of an array. */
#define KL_CALL_STRING_MAX 32
#define KL_CALL_ARRAY_MAX 32

/*
 * A piece of memory at the call's entry or exit, or the number of entries of a list. The bytes
 * follow, and are padded to a multiple of 8.
 */
struct kl_piece {
	uint64_t address;
	uint32_t length;
	uint32_t entries;
	uint8_t is_exit;
	uint8_t is_list;
	uint8_t has_more; /* a list that was not counted to its end */
};

/* A string argument, whose text is in @texts. */
struct kl_call_text {
	bool is_there;
	uint32_t at;
	uint32_t length;
};

struct kl_call_row;

/**
 * struct kl_call - a call from its entry to its exit
 * @out: where the printers append
 * @name: of the call
 * @row: how it is printed; NULL: as syscalls.def says
 * @event_class: of its entry; NULL if the entry is unknown
 * @arg: arguments by position; 0 for strings
 * @text: strings by position
 * @texts: bytes of the strings
 * @pieces: struct kl_piece, each with its bytes
 * @has_memory: the trace has the memory of arguments
 * @leaving: the exit is known, too
 * @result: of the call, at its exit
 * @aux: what follows the result in parentheses
 * @is_hex: the result is a set of flags
 */
struct kl_call {
	struct kl_buffer *out;
	const char *name;
	const struct kl_call_row *row;
	const struct kl_class *event_class;
	unsigned int n_args;
	uint64_t arg[KL_CALL_ARGUMENTS_MAX];
	struct kl_call_text text[KL_CALL_ARGUMENTS_MAX];
	struct kl_buffer texts;
	struct kl_buffer pieces;
	bool has_memory;
	bool leaving;
	int64_t result;
	struct kl_buffer aux;
	bool is_hex;
};

struct kl_kind;

/* Prints argument @i. */
typedef void kl_argument_fn(struct kl_call *c, unsigned int i, const struct kl_kind *kind);

/**
 * struct kl_kind - how an argument is printed
 * @print: prints it
 * @words: symbolic names, if @print needs some
 * @is_out: the kernel writes what it points to, so that it is known at the exit only
 * @is_absent: it is not printed at all; NULL: it always is
 */
struct kl_kind {
	kl_argument_fn *print;
	const struct kl_wordlist *words;
	bool is_out;
	bool (*is_absent)(const struct kl_call *c, unsigned int i);
};

/* How the result is printed. */
enum kl_call_result {
	KL_RESULT_DECIMAL,
	KL_RESULT_HEX,
	KL_RESULT_OCTAL,
	KL_RESULT_NONE, /* the call does not return */
};

/**
 * struct kl_call_row - how a call is printed
 * @kind: of each argument
 * @print: prints all arguments instead; called at the entry, and again at the exit
 */
struct kl_call_row {
	const char *name;
	enum kl_call_result result;
	unsigned int n;
	const struct kl_kind *kind[KL_CALL_ARGUMENTS_MAX];
	void (*print)(struct kl_call *c);
};

/* ---------------------------------------------------------------- call.c */

/* Set the call's name and row. */
void kl_call_set_name(struct kl_call *c, const char *name);

/* Print the arguments that are known at the entry, or the rest at the exit. */
void kl_call_print(struct kl_call *c);

/* Print " = ..." for a call that has returned. */
void kl_call_print_result(struct kl_call *c);

/* -------------------------------------------------------------- memory.c */

/* Add memory from the event strace_memory: two digits for each byte. */
void kl_call_add_memory(struct kl_call *c, uint64_t address, bool is_exit, const uint8_t *digits,
			size_t length);
void kl_call_add_list(struct kl_call *c, uint64_t address, bool is_exit, uint32_t entries,
		      bool has_more);

/* Copy as it was at the entry, or is now: at the exit, what the kernel has written comes first. */
bool kl_call_peek_entry(const struct kl_call *c, uint64_t address, void *to, size_t bytes);
bool kl_call_peek(const struct kl_call *c, uint64_t address, void *to, size_t bytes);

/* Copy at most @most bytes, fewer if no more are known; returns their number. */
size_t kl_call_peek_some(const struct kl_call *c, uint64_t address, void *to, size_t most);

/* Word @index of those that have been recorded alone. */
bool kl_call_word(const struct kl_call *c, unsigned int index, uint64_t *word);

const struct kl_piece *kl_call_find_list(const struct kl_call *c, uint64_t address);

/* --------------------------------------------------------------- value.c */

/* The call has returned without an error. */
static inline bool kl_call_succeeded(const struct kl_call *c)
{
	return c->leaving && !(c->result < 0 && c->result >= -4095);
}

void kl_call_address(struct kl_buffer *out, uint64_t address);
void kl_call_hex(struct kl_buffer *out, uint64_t number); /* 0 without "0x" */
void kl_call_octal(struct kl_buffer *out, uint64_t number); /* at least three digits */
void kl_call_fd(struct kl_buffer *out, uint64_t number);

enum kl_quote {
	KL_QUOTE_PLAIN,
	KL_QUOTE_HEX, /* each byte as \x.. */
};

/* Print @n bytes in quotes; "..." follows if @has_more. */
void kl_call_quote(struct kl_buffer *out, const uint8_t *bytes, size_t n, enum kl_quote how,
		   bool has_more);

/* Print a string that ends with a NUL, at most KL_CALL_STRING_MAX bytes; false: not known. */
bool kl_call_string(struct kl_call *c, uint64_t address);

/* Print @length bytes of memory, as far as strace does; else its address. */
void kl_call_bytes(struct kl_call *c, uint64_t address, uint64_t length, enum kl_quote how);

/* Print the i-th string that the record has; false: it has none. */
bool kl_call_path(struct kl_call *c, unsigned int i, size_t most);

/* Print "[1, 2]" if both numbers are known, else the address. */
void kl_call_numbers(struct kl_call *c, uint64_t address, unsigned int n);

/* --------------------------------------------------------------- words.c */

struct kl_word;

/* Names of numbers or flags; @unknown follows others in a comment, @zero is the name of 0. */
struct kl_wordlist {
	const struct kl_word *words;
	size_t n;
	const char *unknown;
	const char *zero;
};

void kl_call_choice(struct kl_buffer *out, const struct kl_wordlist *list, uint64_t number);
void kl_call_flags(struct kl_buffer *out, const struct kl_wordlist *list, uint64_t number);

/* A choice in the bits of @mask, and flags in the others, if any are set. */
void kl_call_choice_flags(struct kl_buffer *out, const struct kl_wordlist *choices,
			  const struct kl_wordlist *flags, uint64_t number, uint64_t mask);

#define KL_WORDLIST(name) extern const struct kl_wordlist kl_words_##name;
#include "wordlists.def"
#undef KL_WORDLIST

#endif /* KL_LIB_REPORT_STRACE_CALL_H */
