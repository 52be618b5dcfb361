// SPDX-License-Identifier: GPL-2.0
/*
 * Random operations. Most are rejected; programs that are accepted run on random payloads and must
 * behave as the reference does. Random valid programs are all accepted; they are generated so that
 * sequences that become one step, and near misses, are frequent.
 */
#include "../unit.h"
#include "machine.h"

#define WILD_PROGRAMS 300000u
#define SOUND_PROGRAMS 60000u
#define PAYLOADS 8
#define DATA_BYTES 64
#define OPS 24

struct counts {
	u32 accepted;
	u32 rejected;
	u32 different;
	u32 faults;
	u32 results;
};

static void shuffle_machine(void)
{
	for (u32 i = 0; i < MEMORY_BYTES; i++) {
		machine.kernel[i] = random_below(4) ? 'a' + random_below(3) : 0;
		machine.user[i] = random_below(20) ? 'a' + random_below(3) : 0;
	}
	for (u32 i = 0; i < KL_TASK_BYTES; i++)
		machine.task[i] = random_number();
	for (u32 i = 0; i < KL_VARIABLE_TEXT_MAX; i++)
		machine.text[i] = random_below(6) ? 'a' + random_below(2) : 0;
	machine.number = random_below(4);
	machine.flags = random_number();
}

/* Fields that a program does not declare as read may have any value. */
static bool reads_no_more(const struct kl_program *p, const struct kl_event_ctx *f,
			  const struct outcome *expected)
{
	u8 *fields = exact_copy(f->fields, f->bytes);
	struct kl_event_ctx other = *f;
	struct outcome got = {};
	bool same;

	for (u32 i = 0; i < f->bytes; i++)
		if (!(kl_program_reads(p) & kl_reads(i, 1)))
			fields[i] = random_number();
	other.fields = fields;
	other.fault = false;
	same = program_outcome(p, &other, &got) && outcomes_equal(expected, &got);
	free(fields);
	return same;
}

static void compare_once(const struct kl_program *p, const struct kl_abi_op *ops, const u8 *data,
			 struct counts *counts)
{
	u8 payload[128];
	u64 arguments[6] = { KERNEL_BASE + random_below(MEMORY_BYTES),
			     USER_BASE + random_below(MEMORY_BYTES),
			     random_below(4),
			     random_number(),
			     KERNEL_BASE + HOLE_AT - random_below(40),
			     USER_BASE + HOLE_AT - random_below(40) };
	struct kl_event_ctx f = { .session = &session,
				  .bytes = random_below(128),
				  .argument = arguments,
				  .arguments = random_below(7) };
	struct outcome expected, got = {};

	for (u32 i = 0; i < sizeof(payload); i++)
		payload[i] = random_below(3) ? random_below(4) : random_number();
	f.fields = exact_copy(payload, f.bytes);
	reference_run(ops, data, &f, &expected);
	if (!program_outcome(p, &f, &got) || !outcomes_equal(&expected, &got) ||
	    !reads_no_more(p, &f, &expected)) {
		counts->different++;
		if (counts->different == 1)
			for (u32 i = 0; ops[i].code || i < OPS - 1; i++)
				printf("# %u: code %u dst %u a %u b %u imm %d imm64 %llx\n", i,
				       ops[i].code, ops[i].dst, ops[i].a, ops[i].b, ops[i].imm,
				       ops[i].imm64);
	}
	counts->faults += expected.fault;
	counts->results += expected.result != 0;
	free((void *)f.fields);
}

static void try(const struct kl_abi_op *ops, u32 n, struct counts *counts)
{
	u8 data[DATA_BYTES];
	struct kl_program *p;

	for (u32 i = 0; i < sizeof(data); i++)
		data[i] = 'a' + random_below(2);
	p = kl_program_create(ops, n, data, sizeof(data), MAY_ALL, NULL);
	if (IS_ERR(p)) {
		counts->rejected++;
		return;
	}
	counts->accepted++;
	for (u32 i = 0; i < PAYLOADS; i++)
		compare_once(p, ops, data, counts);
	kl_program_destroy(p);
}

/* Any values, but small numbers more often, as otherwise nothing would be accepted. */
static void make_wild(struct kl_abi_op *op)
{
	u64 random = random_number();

	memset(op, 0, sizeof(*op));
	op->code = random_below(KL_OP_COUNT + 1);
	op->dst = random & 1 ? 0 : random_below(9);
	op->a = random & 2 ? 0 : random_below(9);
	op->b = random & 4 ? 0 : random_below(20);
	op->imm = random & 8 ? (s32)random_below(4) : (s32)random_number() >> random_below(32);
	op->imm64 = random & 16 ? 0 : random_number() >> random_below(64);
}

static u64 likely_constant(void)
{
	static const u64 special[] = {
		0,	    1,	    ~0ull,	 1ull << 63, ~0ull >> 1,
		1ull << 31, 0xffff, KERNEL_BASE, USER_BASE,  KERNEL_BASE + HOLE_AT - 4
	};

	return random_below(2) ? special[random_below(10)] : random_below(6);
}

/* Mostly comparisons, constants and jumps. */
static u32 likely_code(void)
{
	static const u8 frequent[] = {
		KL_OP_FIELD,	 KL_OP_CONST,	     KL_OP_ALU,	  KL_OP_ALU,
		KL_OP_JUMP_ZERO, KL_OP_JUMP_NONZERO, KL_OP_FIELD, KL_OP_CONST
	};

	return random_below(4) ? frequent[random_below(8)] : random_below(KL_OP_COUNT);
}

static u64 random_gaps(u32 strings)
{
	return GAPS(strings ? random_below(6) : 0, strings > 1 ? random_below(6) : 0);
}

static const u32 variables[] = { VARIABLE_NUMBER, VARIABLE_UNREADABLE, VARIABLE_IN_TASK };

static void set_rest(struct kl_abi_op *op, u32 left)
{
	u64 text = TEXT_AT(random_below(40), random_below(5));

	switch (op->code) {
	case KL_OP_FIELD:
		op->a = random_below(6) ? 0 : random_below(4);
		op->b = random_below(KL_NUMBER_COUNT);
		op->imm = random_below(90);
		op->imm64 = random_gaps(op->a);
		break;
	case KL_OP_FIELD_TEXT:
		op->a = random_below(4);
		op->b = random_below(2);
		op->imm = random_below(60) | random_below(20) << 16;
		op->imm64 = random_gaps(op->a) | text;
		break;
	case KL_OP_TEXT:
	case KL_OP_VARIABLE_TEXT:
		op->b = random_below(2);
		op->imm = op->code == KL_OP_TEXT ? 0 : VARIABLE_TEXT;
		op->imm64 = text;
		break;
	case KL_OP_ARG:
		op->imm = random_below(7);
		break;
	case KL_OP_VARIABLE:
		op->imm = variables[random_below(3)];
		break;
	case KL_OP_LOAD:
	case KL_OP_LOAD_USER:
		op->b = random_below(KL_NUMBER_COUNT);
		op->imm = (s32)random_below(300) - 20;
		break;
	case KL_OP_BITS:
		op->b = random_below(2);
		op->imm = random_below(64);
		op->imm |= (1 + random_below(64 - op->imm)) << 8;
		break;
	case KL_OP_JUMP:
	case KL_OP_JUMP_ZERO:
	case KL_OP_JUMP_NONZERO:
		op->imm = random_below(left < 6 ? left : 6);
		break;
	case KL_OP_PUT:
		op->b = random_below(KL_NUMBER_COUNT);
		break;
	case KL_OP_PUT_STRING:
	case KL_OP_PUT_USER_STRING:
	case KL_OP_PUT_BYTES:
		op->imm = 1 + random_below(20);
		break;
	case KL_OP_FLAG:
	case KL_OP_SINCE:
		/* KL_SINCE_SESSION is the number after the last flag. */
		op->imm = random_below(KL_FLAGS_MAX + (op->code == KL_OP_SINCE));
		break;
	}
}

static bool sets(u32 code)
{
	return code != KL_OP_END && code != KL_OP_JUMP && code != KL_OP_JUMP_ZERO &&
	       code != KL_OP_JUMP_NONZERO && !(code >= KL_OP_PUT && code <= KL_OP_PUT_BYTES);
}

static bool reads(u32 code)
{
	return code == KL_OP_END || code == KL_OP_MOVE || code == KL_OP_PERCPU ||
	       (code >= KL_OP_LOAD && code <= KL_OP_ALU) || code == KL_OP_JUMP_ZERO ||
	       code == KL_OP_JUMP_NONZERO || code == KL_OP_TEXT ||
	       (code >= KL_OP_PUT && code <= KL_OP_PUT_BYTES);
}

/* A valid operation with @left more to follow, the last of which is END. */
static void make_sound(struct kl_abi_op *op, const struct kl_abi_op *before, u32 left)
{
	memset(op, 0, sizeof(*op));
	op->code = left ? likely_code() : KL_OP_END;
	if (sets(op->code))
		op->dst = random_below(3);
	if (reads(op->code))
		op->a = random_below(2) && before ? before->dst : random_below(3);
	if (op->code == KL_OP_CONST)
		op->imm64 = likely_constant();
	if (op->code == KL_OP_ALU)
		op->b = random_below(2) ? KL_ALU_EQ + random_below(6) : random_below(KL_ALU_COUNT);
	set_rest(op, left);
}

void fuzz_run(void)
{
	struct counts wild = {}, sound = {};
	struct kl_abi_op ops[OPS];
	char text[200];

	for (u32 i = 0; i < WILD_PROGRAMS; i++) {
		u32 n = 1 + random_below(4);

		if (i % 100 == 0)
			shuffle_machine();
		for (u32 k = 0; k < n; k++)
			make_wild(&ops[k]);
		if (random_below(4))
			ops[n - 1] = OP(END, .a = random_below(2));
		try(ops, n, &wild);
	}
	for (u32 i = 0; i < SOUND_PROGRAMS; i++) {
		u32 n = 1 + random_below(OPS);

		if (i % 100 == 0)
			shuffle_machine();
		for (u32 k = 0; k < n; k++)
			make_sound(&ops[k], k ? &ops[k - 1] : NULL, n - 1 - k);
		try(ops, n, &sound);
	}
	snprintf(text, sizeof(text), "%u wild: %u accepted; %u sound: %u rejected, %u different",
		 WILD_PROGRAMS, wild.accepted, SOUND_PROGRAMS, sound.rejected,
		 wild.different + sound.different);
	printf("# %s, %u faults, %u results\n", text, sound.faults, sound.results);
	unit_result(wild.accepted > WILD_PROGRAMS / 50 && wild.rejected > WILD_PROGRAMS / 2,
		    "random operations: most are rejected, some accepted", text);
	unit_result(!sound.rejected, "random sound programs are accepted", text);
	unit_result(!wild.different && !sound.different,
		    "what is accepted does what the reference does", text);
	unit_result(sound.faults > SOUND_PROGRAMS && sound.results > SOUND_PROGRAMS,
		    "there are faults among them, and results", text);
	unit_check(!machine.allocations, "nothing stays allocated");
}
