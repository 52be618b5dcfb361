// SPDX-License-Identifier: GPL-2.0
/*
 * Compiles call frame information into unwind tables. Interprets the instructions of each function
 * and keeps what the module needs: where the caller's frame begins, and where its frame pointer is.
 * The data comes from files that may be damaged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "cfi_internal.h"

#define SAVED_MAX 16 /* nesting of DW_CFA_remember_state */
#define NO_PLACE UINT64_MAX

enum {
	CFA_nop = 0,
	CFA_set_loc = 1,
	CFA_advance_loc1 = 2,
	CFA_advance_loc2 = 3,
	CFA_advance_loc4 = 4,
	CFA_offset_extended = 5,
	CFA_restore_extended = 6,
	CFA_undefined = 7,
	CFA_same_value = 8,
	CFA_register = 9,
	CFA_remember_state = 10,
	CFA_restore_state = 11,
	CFA_def_cfa = 12,
	CFA_def_cfa_register = 13,
	CFA_def_cfa_offset = 14,
	CFA_def_cfa_expression = 15,
	CFA_expression = 16,
	CFA_offset_extended_sf = 17,
	CFA_def_cfa_sf = 18,
	CFA_def_cfa_offset_sf = 19,
	CFA_val_offset = 20,
	CFA_val_offset_sf = 21,
	CFA_val_expression = 22,
	CFA_gnu_args_size = 0x2e,
	CFA_gnu_negative_offset_extended = 0x2f,
	CFA_advance_loc = 0x40,
	CFA_offset = 0x80,
	CFA_restore = 0xc0,
};

struct run {
	struct kl_cfi_table *table;
	const struct kl_cfi_section *section;
	const struct kl_cfi_cie *cie;
	struct kl_cfi_state state, first, saved[SAVED_MAX];
	unsigned int n_saved;
	uint64_t at, end; /* places */
	uint64_t address; /* of the place 0, modulo 2^64 */
	int error;
};

/* -------------------------------------------------------------------- rows */

static void add_row(struct run *run, uint64_t place, uint32_t rule)
{
	struct kl_cfi_table *table = run->table;
	struct kl_unwind_row *grown;

	if (run->error || place > UINT32_MAX)
		return;
	if (table->n == KL_UNWIND_ROWS_MAX) {
		run->error = kl_fail(E2BIG, "more than %u unwind rows", KL_UNWIND_ROWS_MAX);
		return;
	}
	grown = kl_array_grow(table->row, table->n, &table->room, sizeof(*grown));
	if (!grown) {
		run->error = -ENOMEM;
		return;
	}
	table->row = grown;
	grown[table->n++] = (struct kl_unwind_row){ (uint32_t)place, rule };
}

/* The rules so far apply up to @place. */
static void advance_to(struct run *run, uint64_t place)
{
	if (place <= run->at)
		return;
	if (run->at < run->end)
		add_row(run, run->at, kl_cfi_rule(&run->state, run->cie->signal));
	run->at = place;
}

static void advance(struct run *run, uint64_t units)
{
	uint64_t most = (UINT64_MAX - run->at) / (run->cie->code_align ? run->cie->code_align : 1);

	advance_to(run, units < most ? run->at + units * run->cie->code_align : run->end);
}

/* The rule of a register. Other registers are read over. */
static struct kl_cfi_saved *saved_of(struct run *run, uint64_t number)
{
	static __thread struct kl_cfi_saved other;

	if (number == KL_CFI_BP)
		return &run->state.bp;
	return number == KL_CFI_RA ? &run->state.ra : &other;
}

static void set_saved(struct run *run, uint64_t number, enum kl_cfi_saved_kind kind, int64_t offset)
{
	*saved_of(run, number) = (struct kl_cfi_saved){ kind, offset };
}

static void set_at_cfa(struct run *run, uint64_t number, int64_t factor)
{
	int64_t offset;

	if (__builtin_mul_overflow(factor, run->cie->data_align, &offset))
		set_saved(run, number, SAVED_LOST, 0);
	else
		set_saved(run, number, SAVED_AT_CFA, offset);
}

static void set_expression(struct run *run, uint64_t number, struct kl_cfi_expression expression)
{
	struct kl_cfi_bytes b = { expression.data, expression.data + expression.bytes, false };
	uint64_t base;
	int64_t offset;

	if (kl_cfi_take_breg(&b, &base, &offset) && b.at == b.end && base == KL_CFI_BP)
		set_saved(run, number, SAVED_AT_BP, offset);
	else
		set_saved(run, number, SAVED_LOST, 0);
}

static void restore(struct run *run, uint64_t number)
{
	if (number == KL_CFI_BP)
		run->state.bp = run->first.bp;
	else if (number == KL_CFI_RA)
		run->state.ra = run->first.ra;
}

static void define_cfa(struct run *run, uint64_t number, int64_t offset)
{
	run->state.cfa_register = number;
	run->state.cfa_offset = offset;
	run->state.cfa.bytes = 0;
}

static int64_t scale(const struct run *run, int64_t factor)
{
	int64_t offset;

	return __builtin_mul_overflow(factor, run->cie->data_align, &offset) ? -1 : offset;
}

static void remember(struct run *run, struct kl_cfi_bytes *b)
{
	if (run->n_saved == SAVED_MAX)
		b->bad = true;
	else
		run->saved[run->n_saved++] = run->state;
}

static void recall(struct run *run, struct kl_cfi_bytes *b)
{
	if (!run->n_saved)
		b->bad = true;
	else
		run->state = run->saved[--run->n_saved];
}

/* Instructions that change where registers are. */
static void run_register(struct run *run, struct kl_cfi_bytes *b, uint8_t op)
{
	uint64_t number = kl_cfi_take_uleb(b);

	switch (op) {
	case CFA_offset_extended:
		set_at_cfa(run, number, (int64_t)kl_cfi_take_uleb(b));
		break;
	case CFA_offset_extended_sf:
		set_at_cfa(run, number, kl_cfi_take_sleb(b));
		break;
	case CFA_gnu_negative_offset_extended:
		set_at_cfa(run, number, -(int64_t)(kl_cfi_take_uleb(b) & INT64_MAX));
		break;
	case CFA_restore_extended:
		restore(run, number);
		break;
	case CFA_undefined:
		set_saved(run, number, SAVED_NOWHERE, 0);
		break;
	case CFA_same_value:
		set_saved(run, number, SAVED_SAME, 0);
		break;
	case CFA_expression:
		set_expression(run, number, kl_cfi_take_expression(b));
		break;
	case CFA_val_expression:
		kl_cfi_take_expression(b);
		set_saved(run, number, SAVED_LOST, 0);
		break;
	case CFA_val_offset_sf:
		kl_cfi_take_sleb(b);
		set_saved(run, number, SAVED_LOST, 0);
		break;
	case CFA_register:
		set_saved(run, number, SAVED_IN_REGISTER, (int64_t)kl_cfi_take_uleb(b));
		break;
	default: /* CFA_val_offset */
		kl_cfi_take_uleb(b);
		set_saved(run, number, SAVED_LOST, 0);
	}
}

static void run_cfa(struct run *run, struct kl_cfi_bytes *b, uint8_t op)
{
	uint64_t number = run->state.cfa_register;
	int64_t offset = run->state.cfa_offset;

	switch (op) {
	case CFA_def_cfa:
		number = kl_cfi_take_uleb(b);
		offset = (int64_t)kl_cfi_take_uleb(b);
		break;
	case CFA_def_cfa_sf:
		number = kl_cfi_take_uleb(b);
		offset = scale(run, kl_cfi_take_sleb(b));
		break;
	case CFA_def_cfa_register:
		number = kl_cfi_take_uleb(b);
		break;
	case CFA_def_cfa_offset:
		offset = (int64_t)kl_cfi_take_uleb(b);
		break;
	default: /* CFA_def_cfa_offset_sf */
		offset = scale(run, kl_cfi_take_sleb(b));
	}
	define_cfa(run, number, offset);
}

static void run_one(struct run *run, struct kl_cfi_bytes *b, uint8_t op)
{
	switch (op) {
	case CFA_nop:
		break;
	case CFA_set_loc:
		advance_to(run,
			   kl_cfi_take_pointer(b, run->cie->pointer, run->section) - run->address);
		break;
	case CFA_advance_loc1:
		advance(run, kl_cfi_take_fixed(b, 1));
		break;
	case CFA_advance_loc2:
		advance(run, kl_cfi_take_fixed(b, 2));
		break;
	case CFA_advance_loc4:
		advance(run, kl_cfi_take_fixed(b, 4));
		break;
	case CFA_remember_state:
		remember(run, b);
		break;
	case CFA_restore_state:
		recall(run, b);
		break;
	case CFA_def_cfa:
	case CFA_def_cfa_sf:
	case CFA_def_cfa_register:
	case CFA_def_cfa_offset:
	case CFA_def_cfa_offset_sf:
		run_cfa(run, b, op);
		break;
	case CFA_def_cfa_expression:
		run->state.cfa = kl_cfi_take_expression(b);
		break;
	case CFA_gnu_args_size:
		kl_cfi_take_uleb(b);
		break;
	case CFA_offset_extended:
	case CFA_offset_extended_sf:
	case CFA_gnu_negative_offset_extended:
	case CFA_restore_extended:
	case CFA_undefined:
	case CFA_same_value:
	case CFA_register:
	case CFA_expression:
	case CFA_val_offset:
	case CFA_val_offset_sf:
	case CFA_val_expression:
		run_register(run, b, op);
		break;
	default:
		b->bad = true;
	}
}

/* Returns whether all instructions were understood. */
static bool run_all(struct run *run, struct kl_cfi_bytes b)
{
	while (!b.bad && b.at < b.end && !run->error && run->at <= run->end) {
		uint8_t op = (uint8_t)kl_cfi_take_fixed(&b, 1);

		switch (op & 0xc0) {
		case CFA_advance_loc:
			advance(run, op & 0x3f);
			break;
		case CFA_offset:
			set_at_cfa(run, op & 0x3f, (int64_t)kl_cfi_take_uleb(&b));
			break;
		case CFA_restore:
			restore(run, op & 0x3f);
			break;
		default:
			run_one(run, &b, op);
		}
	}
	return !b.bad;
}

/* ----------------------------------------------------------------- entries */

static void read_augmentation(struct kl_cfi_cie *cie, struct kl_cfi_bytes *b, const char *text,
			      const struct kl_cfi_section *section)
{
	struct kl_cfi_bytes data;

	if (!*text)
		return;
	if (*text != 'z') {
		b->bad = true;
		return;
	}
	cie->sized = true;
	data = kl_cfi_take_block(b, kl_cfi_take_uleb(b));
	for (text++; *text && !data.bad; text++) {
		if (*text == 'R') {
			cie->pointer = (uint8_t)kl_cfi_take_fixed(&data, 1);
		} else if (*text == 'L') {
			kl_cfi_take_fixed(&data, 1);
		} else if (*text == 'P') {
			uint8_t encoding = (uint8_t)kl_cfi_take_fixed(&data, 1);

			/* The personality routine's address may be indirect. */
			if (encoding != PE_omit)
				kl_cfi_take_pointer(&data, encoding & 0x0f, section);
		} else if (*text == 'S') {
			cie->signal = true;
		} else if (*text != 'B') {
			data.bad = true;
		}
	}
	b->bad |= data.bad;
}

static struct kl_cfi_cie read_cie(struct kl_cfi_bytes b, const struct kl_cfi_section *section)
{
	struct kl_cfi_cie cie = { .pointer = PE_absptr };
	uint64_t version = kl_cfi_take_fixed(&b, 1), ra;
	const char *text = (const char *)b.at;
	const uint8_t *end = b.bad ? NULL : memchr(b.at, 0, (size_t)(b.end - b.at));

	if (!end || (version != 1 && version != 3 && version != 4))
		return cie;
	b.at = end + 1;
	/* Sizes of an address and of a segment selector. */
	if (version == 4 && (kl_cfi_take_fixed(&b, 1) != 8 || kl_cfi_take_fixed(&b, 1)))
		return cie;
	cie.code_align = kl_cfi_take_uleb(&b);
	cie.data_align = kl_cfi_take_sleb(&b);
	ra = version == 1 ? kl_cfi_take_fixed(&b, 1) : kl_cfi_take_uleb(&b);
	read_augmentation(&cie, &b, text, section);
	cie.initial = b;
	cie.valid = !b.bad && ra == KL_CFI_RA;
	return cie;
}

/* The place of a function; NO_PLACE if it is not in a segment. */
static uint64_t place_of(const struct kl_cfi_segment *segment, size_t segments, uint64_t address,
			 uint64_t bytes)
{
	for (size_t i = 0; i < segments; i++) {
		const struct kl_cfi_segment *s = &segment[i];

		if (address >= s->address && bytes <= s->bytes &&
		    address - s->address <= s->bytes - bytes)
			return s->place + (address - s->address);
	}
	return NO_PLACE;
}

static int add_function(struct kl_cfi_table *table, const struct kl_cfi_section *section,
			const struct kl_cfi_cie *cie, struct kl_cfi_bytes b,
			const struct kl_cfi_segment *segment, size_t segments)
{
	uint64_t address = kl_cfi_take_pointer(&b, cie->pointer, section);
	uint64_t bytes = kl_cfi_take_pointer(&b, cie->pointer & 0x0f, section);
	uint64_t place = place_of(segment, segments, address, bytes);
	struct run run = { .table = table, .section = section, .cie = cie, .at = place };
	size_t n = table->n;

	if (cie->sized)
		kl_cfi_take_block(&b, kl_cfi_take_uleb(&b));
	if (b.bad || !bytes || place > UINT32_MAX || bytes > UINT32_MAX - place)
		return 0;
	run.end = place + bytes;
	run.address = address - place;
	run.state.ra.kind = SAVED_LOST;
	if (!run_all(&run, cie->initial) || run.at != place) {
		table->n = n;
		return run.error;
	}
	run.first = run.state;
	/* What follows the damage is unknown, and so may be what precedes it. */
	if (run_all(&run, b))
		advance_to(&run, run.end);
	else
		table->n = n;
	add_row(&run, run.end, KL_UNWIND_NONE);
	return run.error;
}

/* Takes the next entry. Returns false at the end of the section. */
static bool take_entry(struct kl_cfi_bytes *b, struct kl_cfi_bytes *entry, bool *wide)
{
	uint64_t bytes = kl_cfi_take_fixed(b, 4);

	*wide = bytes == UINT32_MAX;
	if (*wide)
		bytes = kl_cfi_take_fixed(b, 8);
	if (b->bad || !bytes)
		return false;
	*entry = kl_cfi_take_block(b, bytes);
	return !b->bad;
}

/* The CIE that an entry refers to, or an invalid one. */
static struct kl_cfi_cie find_cie(const struct kl_cfi_section *section, uint64_t offset)
{
	struct kl_cfi_bytes b = { section->data, section->data + section->bytes, false }, entry;
	uint64_t id;
	bool wide;

	kl_cfi_take_block(&b, offset);
	if (b.bad || !take_entry(&b, &entry, &wide))
		return (struct kl_cfi_cie){};
	id = kl_cfi_take_fixed(&entry, wide ? 8 : 4);
	if (id != (section->eh ? 0 : wide ? UINT64_MAX : UINT32_MAX) || entry.bad)
		return (struct kl_cfi_cie){};
	return read_cie(entry, section);
}

int kl_cfi_add(struct kl_cfi_table *table, const struct kl_cfi_section *section,
	       const struct kl_cfi_segment *segment, size_t segments)
{
	struct kl_cfi_bytes b = { section->data, section->data + section->bytes, false }, entry;
	uint64_t cie_at = UINT64_MAX;
	struct kl_cfi_cie cie = {};
	int error = 0;
	bool wide;

	while (!error && take_entry(&b, &entry, &wide)) {
		uint64_t here = (uint64_t)(entry.at - section->data);
		uint64_t id = kl_cfi_take_fixed(&entry, wide ? 8 : 4);
		uint64_t at = section->eh ? here - id : id;

		if (entry.bad || id == (section->eh ? 0 : wide ? UINT64_MAX : UINT32_MAX))
			continue;
		if (at != cie_at)
			cie = find_cie(section, at);
		cie_at = at;
		if (cie.valid)
			error = add_function(table, section, &cie, entry, segment, segments);
	}
	return error;
}

static int by_offset(const void *a, const void *b)
{
	const struct kl_unwind_row *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	/* The end of a function before the beginning of the next. */
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

int kl_cfi_insert(struct kl_cfi_table *table, size_t i, struct kl_unwind_row row)
{
	struct kl_unwind_row *grown =
		kl_array_grow(table->row, table->n, &table->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	table->row = grown;
	memmove(&grown[i + 2], &grown[i + 1], (table->n - i - 1) * sizeof(*grown));
	grown[i + 1] = row;
	table->n++;
	return 0;
}

void kl_cfi_finish(struct kl_cfi_table *table)
{
	size_t n = 0;

	if (table->n)
		qsort(table->row, table->n, sizeof(*table->row), by_offset);
	for (size_t i = 0; i < table->n; i++) {
		struct kl_unwind_row row = table->row[i];

		if (i + 1 < table->n && table->row[i + 1].offset == row.offset)
			continue;
		if (n && table->row[n - 1].rule == row.rule)
			continue;
		table->row[n++] = row;
	}
	table->n = n;
}

void kl_cfi_deinit(struct kl_cfi_table *table)
{
	free(table->row);
	*table = (struct kl_cfi_table){};
}

uint32_t kl_cfi_find(const struct kl_cfi_table *table, uint64_t place)
{
	size_t from = 0, to = table->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (table->row[middle].offset <= place)
			from = middle + 1;
		else
			to = middle;
	}
	return from ? table->row[from - 1].rule : KL_UNWIND_NONE;
}
