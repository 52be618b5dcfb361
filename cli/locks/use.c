// SPDX-License-Identifier: GPL-2.0
/* Prints how a module uses locks: what is wrong, with stack traces, and a table of its locks. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "use.h"

/* What has been read from a trace. */
struct report {
	struct kl_lock_use *use;
	const struct kl_schema *schema;
	const struct kl_stacks *stacks;
	uint64_t first_ns, last_ns;
	uint64_t lost;
	uint64_t unwatched; /* calls without an event */
	size_t top; /* rows of the table; 0: all */
};

void cli_lock_use_select(struct cli_select *select, const struct cli_command *command,
			 const char *module, struct kl_lock_layout *layout)
{
	struct kl_btf *btf = kl_btf_open(NULL);
	struct utsname kernel = { 0 };
	struct kl_buffer specs = { 0 }, fields = { 0 };

	uname(&kernel);
	*layout = kl_lock_layout_of(btf, kernel.version);
	kl_btf_close(btf);
	kl_lock_use_specs(&specs, module);
	cli_select_add(select, command, cli_format("%s", specs.data));
	kl_lock_use_fields(&fields, layout);
	select->variables = cli_format("%s,%s", KL_LOCK_USE_VARIABLES, fields.data);
	kl_buffer_deinit(&specs);
	kl_buffer_deinit(&fields);
}

/* ------------------------------------------------------------------- reading */

static int read_events(struct report *r, struct kl_trace *trace)
{
	struct kl_item item;
	int error = 0;

	while (!error && kl_trace_next(trace, &item) > 0) {
		if (item.kind == KL_ITEM_LOSS) {
			r->lost += item.loss->records;
			kl_lock_use_add_loss(r->use);
			continue;
		}
		r->first_ns = r->first_ns ? r->first_ns : item.event->ns;
		r->last_ns = item.event->ns;
		error = kl_lock_use_add(r->use, item.event);
	}
	return error;
}

static bool read_word(void *context, uint64_t address, uint64_t *word)
{
	return !kl_blocks_read(context, address, word, sizeof(*word));
}

/* ---------------------------------------------------------------------- text */

/* The name of a lock, to be freed. */
static char *lock_name(const struct report *r, uint64_t lock)
{
	const struct kl_address *named = kl_addresses_get(kl_schema_addresses(r->schema), lock);

	if (!named)
		return cli_format("0x%llx", (unsigned long long)lock);
	if (named->offset)
		return cli_format("%s+0x%llx", named->symbol, (unsigned long long)named->offset);
	return cli_format("%s", named->symbol);
}

static char *task_name(const struct kl_lock_place *place)
{
	static const char *const contexts[] = { "", " in a softirq", " in an interrupt",
						" in an NMI" };
	const char *comm = place->comm && place->tid ? place->comm : "idle";

	return cli_format("%s-%d%s", cli_clean_text(comm, strlen(comm)), place->tid,
			  contexts[place->context < 4 ? place->context : 3]);
}

static void print_place(const struct report *r, const char *what, const struct kl_lock_place *place,
			FILE *file)
{
	struct kl_buffer buffer = { 0 };
	char *task;

	if (!place->call)
		return;
	task = task_name(place);
	fprintf(file, "  %s %s, %.6f s after the start\n", what, task,
		(double)(place->ns - r->first_ns) / 1e9);
	free(task);
	kl_print_stack(&buffer, r->stacks, place->stack, 6);
	if (!buffer.length)
		kl_buffer_printf(&buffer, "      %s (no stack trace)\n", place->call);
	cli_write_buffer(&buffer, file);
	kl_buffer_deinit(&buffer);
}

/* What the two places of a kind are. */
static const struct {
	const char *here;
	const char *there;
} places[KL_LOCK_FAULT_KINDS] = {
	[KL_LOCK_FREE_RELEASED] = { "released by", "" },
	[KL_LOCK_FOREIGN_RELEASED] = { "released by", "taken by" },
	[KL_LOCK_WRONG_MODE] = { "released by", "taken by" },
	[KL_LOCK_KEPT] = { "taken by", "released by" },
	[KL_LOCK_LEFT] = { "taken by", "" },
	[KL_LOCK_TWICE] = { "taken again by", "held since it was taken by" },
	[KL_LOCK_SLEEP_SPIN] = { "may sleep:", "the spinlock was taken by" },
	[KL_LOCK_SLEEP_IRQ] = { "may sleep:", "" },
	[KL_LOCK_IN_IRQ] = { "taken by", "and by" },
	[KL_LOCK_INIT_HELD] = { "initialized by", "taken by" },
	[KL_LOCK_LONG] = { "taken by", "released by" },
};

static void print_order(const struct report *r, const struct kl_lock_fault *fault, FILE *file)
{
	for (size_t i = 0; i < fault->steps; i++) {
		const struct kl_lock_step *step = &fault->step[i];
		char *held = lock_name(r, step->held), *taken = lock_name(r, step->taken);
		char *what = cli_format("%s is held, taken by", held);

		print_place(r, what, &step->hold, file);
		free(what);
		what = cli_format("while %s is taken by", taken);
		print_place(r, what, &step->take, file);
		free(what);
		free(held);
		free(taken);
	}
}

static void print_fault(const struct report *r, const struct kl_lock_fault *fault, FILE *file)
{
	char *lock = fault->lock ? lock_name(r, fault->lock) : NULL;
	char *other = fault->other ? lock_name(r, fault->other) : NULL;
	char text[CLI_NUMBER_MAX];

	fprintf(file, "%s: %s%s%s", kl_lock_fault_text(fault->kind),
		fault->kind == KL_LOCK_SLEEP_SPIN ? other :
		lock				  ? lock :
						    "a call",
		fault->kind == KL_LOCK_ORDER ? ", " : "",
		fault->kind == KL_LOCK_ORDER ? other : "");
	if (fault->held_ns)
		fprintf(file, ", %s", cli_print_time(text, fault->held_ns));
	if (fault->times > 1)
		fprintf(file, ", %s times", cli_print_count(text, fault->times));
	fprintf(file, "%s\n", fault->certain ? "" : " (it may have been released elsewhere)");
	if (fault->kind == KL_LOCK_ORDER) {
		print_order(r, fault, file);
	} else {
		print_place(r, places[fault->kind].here, &fault->here, file);
		print_place(r, places[fault->kind].there, &fault->there, file);
	}
	fprintf(file, "\n");
	free(lock);
	free(other);
}

static void print_times(const struct report *r, const struct kl_lock_times *times, size_t n,
			FILE *file)
{
	struct cli_table *table =
		cli_table_create(">TAKEN|>FAILED|>WAITED|>WORST|>HELD|>MEAN|>WORST|LOCK");
	char text[CLI_NUMBER_MAX];

	for (size_t i = 0; i < n; i++) {
		const struct kl_lock_times *t = &times[i];
		char *name = lock_name(r, t->lock);

		cli_table_add(table, "%s", cli_print_count(text, t->taken));
		cli_table_add(table, "%s", cli_print_count(text, t->failed));
		cli_table_add(table, "%s", cli_print_ns(text, t->waited_ns));
		cli_table_add(table, "%s", cli_print_ns(text, t->worst_wait_ns));
		cli_table_add(table, "%s", cli_print_ns(text, t->held_ns));
		cli_table_add(table, "%s",
			      cli_print_ns(text, t->releases ? t->held_ns / t->releases : 0));
		cli_table_add(table, "%s", cli_print_ns(text, t->worst_held_ns));
		cli_table_add(table, "%s (%s)", name, kl_lock_type_name(t->type, false));
		free(name);
	}
	cli_table_print(table, file, 0);
}

static int print_text(const struct report *r, FILE *file)
{
	const struct kl_lock_fault *fault;
	struct kl_lock_times *times;
	char count[CLI_NUMBER_MAX], length[CLI_NUMBER_MAX], taken[CLI_NUMBER_MAX],
		locks[CLI_NUMBER_MAX];
	size_t faults = 0, n;
	uint64_t sum = 0;

	while (kl_lock_use_fault(r->use, faults))
		faults++;
	times = kl_lock_use_times(r->use, &n);
	if (!times)
		return cli_library_error(-errno, NULL);
	for (size_t i = 0; i < n; i++)
		sum += times[i].taken;
	fprintf(file, "%s lock%s, taken %s time%s in %s; ", cli_print_count(locks, n),
		n == 1 ? "" : "s", cli_print_count(taken, sum), sum == 1 ? "" : "s",
		cli_print_time(length, r->last_ns - r->first_ns));
	fprintf(file, "%s problem%s\n\n", faults ? cli_print_count(count, faults) : "no",
		faults == 1 ? "" : "s");
	for (size_t i = 0; (fault = kl_lock_use_fault(r->use, i)); i++)
		print_fault(r, fault, file);
	if (n)
		print_times(r, times, r->top && r->top < n ? r->top : n, file);
	if (r->top && r->top < n)
		fprintf(file, "%zu more: --top\n", n - r->top);
	if (r->unwatched)
		fprintf(file, "\n%s calls cannot be traced; what they do is not known\n",
			cli_print_count(count, r->unwatched));
	if (kl_lock_use_is_full(r->use))
		fprintf(file, "\nnot all orders of locks are checked: there are too many\n");
	if (r->lost)
		fprintf(file, "\n%s records are missing; the locks held then are not known\n",
			cli_print_count(count, r->lost));
	free(times);
	return CLI_OK;
}

/* ---------------------------------------------------------------------- JSON */

static void set_lock(json_t *to, const struct report *r, const char *key, uint64_t lock)
{
	char *name;

	if (!lock)
		return;
	name = lock_name(r, lock);
	json_object_set_new(to, key, cli_json_text(name));
	free(name);
}

static json_t *json_place(const struct report *r, const struct kl_lock_place *place)
{
	json_t *object;

	if (!place->call)
		return json_null();
	object = json_pack("{s:s, s:i, s:s, s:I, s:i}", "call", place->call, "tid", (int)place->tid,
			   "comm", place->comm ? place->comm : "", "ns", (json_int_t)place->ns,
			   "context", (int)place->context);
	json_object_set_new(object, "frames", cli_json_stack(r->stacks, place->stack));
	return object;
}

static json_t *json_steps(const struct report *r, const struct kl_lock_fault *fault)
{
	json_t *list = json_array();

	for (size_t i = 0; i < fault->steps; i++) {
		json_t *step = json_object();

		set_lock(step, r, "held", fault->step[i].held);
		set_lock(step, r, "taken", fault->step[i].taken);
		json_object_set_new(step, "hold", json_place(r, &fault->step[i].hold));
		json_object_set_new(step, "take", json_place(r, &fault->step[i].take));
		json_array_append_new(list, step);
	}
	return list;
}

static json_t *json_fault(const struct report *r, const struct kl_lock_fault *fault)
{
	json_t *object = json_pack("{s:s, s:s, s:I, s:b, s:I, s:o, s:o, s:o}", "kind",
				   kl_lock_fault_name(fault->kind), "text",
				   kl_lock_fault_text(fault->kind), "times",
				   (json_int_t)fault->times, "certain", (int)fault->certain,
				   "held_ns", (json_int_t)fault->held_ns, "here",
				   json_place(r, &fault->here), "there",
				   json_place(r, &fault->there), "order", json_steps(r, fault));

	set_lock(object, r, "lock", fault->lock);
	set_lock(object, r, "other", fault->other);
	return object;
}

static json_t *json_times(const struct report *r, const struct kl_lock_times *t)
{
	json_t *object = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "type",
				   kl_lock_type_name(t->type, false), "taken", (json_int_t)t->taken,
				   "failed", (json_int_t)t->failed, "waited_ns",
				   (json_int_t)t->waited_ns, "worst_wait_ns",
				   (json_int_t)t->worst_wait_ns, "releases",
				   (json_int_t)t->releases, "held_ns", (json_int_t)t->held_ns,
				   "worst_held_ns", (json_int_t)t->worst_held_ns);

	set_lock(object, r, "lock", t->lock);
	return object;
}

static int write_json(const struct report *r)
{
	json_t *faults = json_array(), *locks = json_array();
	const struct kl_lock_fault *fault;
	struct kl_lock_times *times;
	size_t n;

	times = kl_lock_use_times(r->use, &n);
	for (size_t i = 0; times && i < n && (!r->top || i < r->top); i++)
		json_array_append_new(locks, json_times(r, &times[i]));
	free(times);
	for (size_t i = 0; (fault = kl_lock_use_fault(r->use, i)); i++)
		json_array_append_new(faults, json_fault(r, fault));
	return cli_json_write(json_pack("{s:I, s:I, s:I, s:o, s:o}", "elapsed_ns",
					(json_int_t)(r->last_ns - r->first_ns), "lost",
					(json_int_t)r->lost, "unwatched", (json_int_t)r->unwatched,
					"faults", faults, "locks", locks));
}

int cli_lock_use_print(struct kl_trace *trace, const struct cli_lock_use *how, FILE *file)
{
	struct kl_blocks *text = how->plan ? kl_plan_text(how->plan) : NULL;
	const char *version = kl_trace_about(trace)->kernel_version;
	const struct kl_lock_layout layout = how->plan ? how->layout :
							 kl_lock_layout_of(NULL, version);
	struct report r = { .schema = kl_trace_schema(trace), .top = how->top };
	int error, status;

	r.stacks = kl_schema_stacks(r.schema);
	r.use = kl_lock_use_create(r.schema, &layout, how->limit_ns);
	if (!r.use)
		return cli_library_error(-errno, NULL);
	if (how->plan) {
		struct kl_plan_blocks sum = kl_plan_blocks(how->plan);

		r.unwatched = sum.points - sum.placed;
	}
	error = read_events(&r, trace);
	if (!error)
		error = kl_lock_use_finish(r.use, text ? read_word : NULL, text);
	if (error)
		status = cli_library_error(error, NULL);
	else
		status = cli_settings.json ? write_json(&r) : print_text(&r, file);
	kl_lock_use_destroy(r.use);
	return status;
}
