// SPDX-License-Identifier: GPL-2.0
/*
 * Runs programs. Reads the event's fields and arguments, memory, and the session's variables and
 * flags; writes the program's output.
 *
 * Most filters only test fields, and many variables are one load: these run without registers and
 * in a small stack frame. The rest is one switch, which the compiler turns into a tree of
 * comparisons, as the kernel is built without jump tables.
 */
#include "program_step.h"
#include "program_values.h"

/* A value that could not be read is 0 and sets the fault flag. */
static noinline u64 fault(struct kl_event_ctx *f)
{
	f->fault = true;
	return 0;
}

/* ----------------------------------------------------------------- fields */

static __always_inline u64 field(const struct kl_step *step, struct kl_event_ctx *f)
{
	return kl_step_fits(step, f) ? kl_number_before(kl_step_end(step, f), step->b) : fault(f);
}

static __always_inline bool is_within(const struct kl_step *step, u64 number)
{
	return number - step->low <= step->span;
}

static __always_inline const struct kl_step *go(const struct kl_step *step, u32 bytes)
{
	return (const void *)((const u8 *)step + bytes);
}

static __always_inline const struct kl_step *choose(const struct kl_step *step, u64 number)
{
	return go(step, is_within(step, number) ? step->yes : step->no);
}

/*
 * The address step->imm bytes after the a-th string; @left is set to the bytes that follow. NULL if
 * the strings are incomplete.
 */
static const u8 *behind_strings(const struct kl_step *step, const struct kl_event_ctx *f, u32 *left)
{
	u32 at = 0;

	for (u32 i = 0; i < step->a; i++) {
		const u8 *nul;

		if (i < 2)
			at += step->gap[i];
		if (at >= f->bytes)
			return NULL;
		at = kl_index_nospec(at, f->bytes);
		nul = memchr(f->fields + at, 0, f->bytes - at);
		if (!nul)
			return NULL;
		at = nul + 1 - f->fields;
	}
	at += step->imm;
	if (at > f->bytes)
		return NULL;
	*left = f->bytes - at;
	return f->fields + at;
}

static u64 field_behind(const struct kl_step *step, struct kl_event_ctx *f)
{
	u32 left, size = 1u << (step->b >> 1);
	const u8 *at = behind_strings(step, f, &left);

	if (!at || left < size)
		return fault(f);
	/*
	 * Clamp the index, as a number may become an address under speculation. A text needs no
	 * clamp: only the result of its comparison is used.
	 */
	return kl_number_before(f->fields + kl_index_nospec(at - f->fields + size, f->bytes + 1ul),
				step->b);
}

/* ------------------------------------------------------------------- text */

/* Does a text of @bytes, fewer if there is a NUL, match the step's text? */
static u64 is_text(const struct kl_step *step, const u8 *text, u32 bytes)
{
	const u8 *nul = memchr(text, 0, bytes);
	u64 length = nul ? (u64)(nul - text) : bytes;

	if (step->b == KL_TEXT_EQUAL ? length != step->text_bytes : length < step->text_bytes)
		return 0;
	return !memcmp(text, step->text, step->text_bytes);
}

static u64 field_text(const struct kl_step *step, struct kl_event_ctx *f)
{
	u32 left;
	const u8 *at = behind_strings(step, f, &left);

	if (!at || left < step->fixed || (!step->fixed && !memchr(at, 0, left)))
		return fault(f);
	return is_text(step, at, step->fixed ? step->fixed : left);
}

static u64 variable_text(const struct kl_step *step, struct kl_event_ctx *f)
{
	char text[KL_VARIABLE_TEXT_MAX];

	kl_variable_text(f->session, step->imm, text);
	return is_text(step, (const u8 *)text, sizeof(text));
}

static u64 variable_word(const struct kl_step *step, struct kl_event_ctx *f)
{
	u64 words[KL_VARIABLE_TEXT_MAX / 8];

	kl_variable_text(f->session, step->imm, (char *)words);
	return words[step->b];
}

/* The bytes from an address on that lie in its aligned word, which lies in one page. */
struct word {
	u64 bytes;
	u32 n;
};

static __always_inline bool word_at(u64 from, struct word *word)
{
	u32 skip = from % 8;

	if (!kl_kernel_word(from - skip, 3, &word->bytes))
		return false;
	word->bytes >>= 8 * skip;
	word->n = 8 - skip;
	return true;
}

/* Reads only as much as the result needs. */
static u64 kernel_text(const struct kl_step *step, u64 from, struct kl_event_ctx *f)
{
	u64 wanted = step->text_bytes + (step->b == KL_TEXT_EQUAL);
	struct word word = {};

	for (u64 i = 0; i < wanted; i++, word.n--, word.bytes >>= 8) {
		u8 byte = i < step->text_bytes ? step->text[i] : 0;

		if (!word.n && !word_at(from + i, &word))
			return fault(f);
		/* A NUL in the program's text matches no byte. */
		if ((u8)word.bytes != byte || (!byte && i < step->text_bytes))
			return 0;
	}
	return 1;
}

/* ------------------------------------------------------------ calculating */

static u64 divide(u32 b, u64 x, u64 y, struct kl_event_ctx *f)
{
	if (!y)
		return fault(f);
	switch (b) {
	case KL_ALU_UDIV:
		return x / y;
	case KL_ALU_UMOD:
		return x % y;
	case KL_ALU_DIV:
		/* The minimum divided by -1 would overflow: it stays unchanged. */
		return ~y ? (u64)((s64)x / (s64)y) : -x;
	default:
		return ~y ? (u64)((s64)x % (s64)y) : 0;
	}
}

static u64 alu(u32 b, u64 x, u64 y, struct kl_event_ctx *f)
{
	switch (b) {
	case KL_ALU_ADD:
		return x + y;
	case KL_ALU_SUB:
		return x - y;
	case KL_ALU_MUL:
		return x * y;
	case KL_ALU_AND:
		return x & y;
	case KL_ALU_OR:
		return x | y;
	case KL_ALU_XOR:
		return x ^ y;
	case KL_ALU_SHL:
		return x << (y & 63);
	case KL_ALU_SHR:
		return x >> (y & 63);
	case KL_ALU_SAR:
		return (s64)x >> (y & 63);
	case KL_ALU_EQ:
		return x == y;
	case KL_ALU_NE:
		return x != y;
	case KL_ALU_LT:
		return (s64)x < (s64)y;
	case KL_ALU_LE:
		return (s64)x <= (s64)y;
	case KL_ALU_ULT:
		return x < y;
	case KL_ALU_ULE:
		return x <= y;
	}
	return divide(b, x, y, f);
}

static __always_inline u64 shift_out(const struct kl_step *step, u64 number)
{
	number <<= step->up;
	return step->b ? (u64)((s64)number >> step->down) : number >> step->down;
}

/* ------------------------------------------------------------------ loads */

static __always_inline u64 load(const struct kl_step *step, u64 base, struct kl_event_ctx *f)
{
	u64 from = base + (s64)(s32)step->imm, bits;

	if ((step->b | 1) == KL_NUMBER_U64) {
		if (likely(kl_kernel_word(from, 3, &bits)))
			return bits;
	} else if (step->b == KL_NUMBER_S32) {
		if (likely(kl_kernel_word(from, 2, &bits)))
			return (s64)(s32)bits;
	} else if (likely(kl_kernel_word(from, step->b >> 1, &bits))) {
		return kl_step_widen(bits, step->up, step->b);
	}
	return fault(f);
}

static u64 load_user(const struct kl_step *step, u64 base, struct kl_event_ctx *f)
{
	u64 bits = 0; /* little endian */

	if (!kl_user_copy(&bits, base + (s64)(s32)step->imm, 1u << (step->b >> 1)))
		return fault(f);
	return kl_step_widen(bits, step->up, step->b);
}

static __always_inline u64 argument(const struct kl_step *step, struct kl_event_ctx *f)
{
	return likely(step->imm < f->arguments) ? f->argument[step->imm] : fault(f);
}

/* ----------------------------------------------------------------- output */

/* Returns the new end of the output, as do the functions below. */
static __always_inline u8 *put(u8 *out, u64 number, u32 log2)
{
	u32 half = number;
	u16 two = number;

	if (log2 == 3) {
		memcpy(out, &number, sizeof(number));
		return out + sizeof(number);
	}
	if (log2 == 2) {
		memcpy(out, &half, sizeof(half));
		return out + sizeof(half);
	}
	if (!log2) {
		*out = number;
		return out + 1;
	}
	memcpy(out, &two, sizeof(two));
	return out + sizeof(two);
}

static u8 *put_string(u8 *out, u64 from, u32 room, struct kl_event_ctx *f)
{
	struct word word = {};

	for (u32 i = 0; i < room - 1; i++, word.n--, word.bytes >>= 8) {
		if (!word.n && !word_at(from + i, &word)) {
			fault(f);
			break;
		}
		if (!(u8)word.bytes)
			break;
		*out++ = word.bytes;
	}
	*out++ = 0;
	return out;
}

/* Copies one piece at a time that lies in one page, so that it is read entirely or not at all. */
static u8 *put_user_string(u8 *out, u64 from, u32 room, struct kl_event_ctx *f)
{
	u32 got = 0;

	while (got < room - 1) {
		u32 piece = 64 - (from + got) % 64;
		const u8 *nul;

		if (piece > room - 1 - got)
			piece = room - 1 - got;
		if (!kl_user_copy(out + got, from + got, piece)) {
			fault(f);
			break;
		}
		nul = memchr(out + got, 0, piece);
		if (nul)
			return out + (nul + 1 - out);
		got += piece;
	}
	out[got] = 0;
	return out + got + 1;
}

static u8 *put_bytes(u8 *out, u64 from, u32 bytes, struct kl_event_ctx *f)
{
	if (!kl_kernel_copy(out, from, bytes)) {
		fault(f);
		memset(out, 0, bytes);
	}
	return out + bytes;
}

static noinline u8 *put_text(const struct kl_step *step, u8 *out, u64 from, struct kl_event_ctx *f)
{
	switch (step->code) {
	case KL_STEP_PUT_STRING:
		return put_string(out, from, step->imm, f);
	case KL_STEP_PUT_USER_STRING:
		return put_user_string(out, from, step->imm, f);
	}
	return put_bytes(out, from, step->imm, f);
}

/* ---------------------------------------------------------------- running */

/*
 * The rarer steps that set a register, in a function of their own so that the others have a small
 * frame.
 */
static noinline u64 rare(const struct kl_step *step, const u64 *r, struct kl_event_ctx *f)
{
	switch (step->code) {
	case KL_STEP_FIELD_TEXT:
		return field_text(step, f);
	case KL_STEP_VARIABLE_WORD:
		return variable_word(step, f);
	case KL_STEP_VARIABLE_TEXT:
		return variable_text(step, f);
	case KL_STEP_FIELD_BEHIND:
		return field_behind(step, f);
	case KL_STEP_LOAD_USER:
		return load_user(step, r[step->a], f);
	case KL_STEP_TEXT:
		return kernel_text(step, r[step->a], f);
	case KL_STEP_SINCE:
		return kl_flag_since(f->session, step->imm, &f->fault);
	}
	return kl_flag_test(f->session, step->imm);
}

/* The ends whose result is not a register. */
static __always_inline u64 finish(const struct kl_step *step, struct kl_event_ctx *f)
{
	if (step->code == KL_STEP_END_CONST)
		return step->low;
	if (step->code == KL_STEP_END_TASK)
		return kl_step_load_task(step);
	return field(step, f);
}

/* A step that sets a register and is not among the most frequent. */
static u64 value_of(const struct kl_step *step, const u64 *r, struct kl_event_ctx *f)
{
	switch (step->code) {
	case KL_STEP_RANGE:
		return is_within(step, r[step->a]) ^ step->b;
	case KL_STEP_LOAD_TASK:
		return kl_step_load_task(step);
	case KL_STEP_CONST:
		return step->low;
	case KL_STEP_ALU:
		return alu(step->b, r[step->dst], r[step->a], f);
	case KL_STEP_ALU_CONST:
		return alu(step->b, r[step->dst], step->low, f);
	case KL_STEP_VARIABLE:
		return kl_variable_number(f->session, step->imm, &f->fault);
	case KL_STEP_MOVE:
		return r[step->a];
	case KL_STEP_CURRENT:
		return (u64)(unsigned long)kl_running_task();
	case KL_STEP_PERCPU:
		return r[step->a] + kl_percpu_offset();
	case KL_STEP_BITS:
		return shift_out(step, r[step->a]);
	}
	return rare(step, r, f);
}

/* A step that only branches. A field that does not fit is detected here. */
static const struct kl_step *jump(const struct kl_step *step, struct kl_event_ctx *f)
{
	if (step->code == KL_STEP_JUMP)
		return go(step, step->yes);
	return choose(step, field(step, f));
}

/*
 * Runs any step, with registers; the most frequent come first. @out receives the output; NULL
 * discards it. Returns the end of the output.
 */
static noinline u8 *run_steps(const struct kl_program *p, const struct kl_step *step,
			      struct kl_event_ctx *f, u8 *out, u64 *result)
{
	u64 r[KL_PROGRAM_REGISTERS];

	if (unlikely(p->cleared))
		memset(r, 0, sizeof(r));
	for (;;) {
		if (step->code == KL_STEP_LOAD) {
			r[step->dst] = load(step, r[step->a], f);
		} else if (step->code == KL_STEP_PUT) {
			if (likely(out))
				out = put(out, r[step->a], step->b >> 1);
		} else if (step->code == KL_STEP_END) {
			*result = r[step->a];
			return out;
		} else if (step->code == KL_STEP_FIELD) {
			r[step->dst] = field(step, f);
		} else if (step->code == KL_STEP_ARG) {
			r[step->dst] = argument(step, f);
		} else if (step->code == KL_STEP_TEST) {
			step = choose(step, r[step->a]);
			continue;
		} else if (step->code <= KL_STEP_LAST_JUMP) {
			step = jump(step, f);
			continue;
		} else if (step->code < KL_STEP_END) {
			*result = finish(step, f);
			return out;
		} else if (step->code >= KL_STEP_PUT_STRING) {
			if (likely(out))
				out = put_text(step, out, r[step->a], f);
		} else {
			r[step->dst] = value_of(step, r, f);
		}
		step++;
	}
}

/* Separate, so that kl_program_run, which ends with a call of this, needs no stack frame. */
static noinline u64 run_result(const struct kl_program *p, const struct kl_step *step,
			       struct kl_event_ctx *f)
{
	u64 result;

	run_steps(p, step, f, NULL, &result);
	return result;
}

/**
 * kl_program_run - run a program for its result
 * @p: the program
 * @f: the event; @f->fault is set if something could not be read, never cleared
 *
 * Output is discarded. Context: any, preemption off.
 */
u64 kl_program_run(const struct kl_program *p, struct kl_event_ctx *f)
{
	const struct kl_step *step = p->step;

	/* A test reveals only its outcome, so its field need not be clamped. */
	for (;;) {
		if (step->code == KL_STEP_TEST_FIELD_S32 && kl_step_fits(step, f))
			step = choose(step, kl_s32_before(f->fields + step->imm));
		else if (step->code == KL_STEP_TEST_FIELD_64 && kl_step_fits(step, f))
			step = choose(step, kl_u64_before(f->fields + step->imm));
		else if (step->code == KL_STEP_TEST_FIELD_U32 && kl_step_fits(step, f))
			step = choose(step, kl_u32_before(f->fields + step->imm));
		else
			break;
	}
	if (step->code == KL_STEP_END_CONST)
		return step->low;
	if (step->code == KL_STEP_END_TASK)
		return kl_step_load_task(step);
	if (step->code == KL_STEP_END_FIELD && kl_step_fits(step, f))
		return kl_number_before(kl_step_end(step, f), step->b);
	return run_result(p, step, f);
}

/**
 * kl_program_put - run a program for its output
 * @p: the program
 * @f: as for kl_program_run
 * @out: destination; may be what @f->fields of the same event will point to
 * @room: size of @out, at least kl_program_out_bytes(); else nothing is written and a fault is
 *        noted
 *
 * Returns the bytes written. Context: any, preemption off.
 */
u32 kl_program_put(const struct kl_program *p, struct kl_event_ctx *f, u8 *out, u32 room)
{
	u64 result;

	if (unlikely(room < p->out_bytes))
		return fault(f);
	return run_steps(p, p->step, f, out, &result) - out;
}
