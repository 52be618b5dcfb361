// SPDX-License-Identifier: GPL-2.0
/* Print signals, credentials, limits of a process, and the CPUs that it may run on. */
#include <grp.h>
#include <stdio.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "detail.h"

/* ------------------------------------------------------------------- signals */

static json_t *signals_json(uint64_t set)
{
	json_t *names = json_array();
	char text[16];

	for (unsigned int i = 0; i < 64; i++)
		if (set >> i & 1)
			json_array_append_new(names,
					      json_string(kl_detail_signal_name(i + 1, text,
										sizeof(text))));
	return names;
}

static void print_signals(const char *title, uint64_t set)
{
	unsigned int n = (unsigned int)__builtin_popcountll(set);
	const bool but = n > 32; /* shorter to list the signals not in it */
	char text[16];

	printf("  %-18s%s", title, !n ? "none" : n == 64 ? "all" : but ? "all except" : "");
	for (unsigned int i = 0; n && i < 64; i++)
		if ((set >> i & 1) != but)
			printf("%s%s", but || i ? " " : "",
			       kl_detail_signal_name(i + 1, text, sizeof(text)));
	putchar('\n');
}

void cli_proc_print_signals(const struct kl_details *list)
{
	const struct kl_abi_detail_signals *s = &list->entry[0].signals;

	print_signals("pending, thread", s->pending);
	print_signals("pending, process", s->pending_process);
	print_signals("blocked", s->blocked);
	print_signals("ignored", s->ignored);
	print_signals("caught", s->caught);
	printf("  %-18s%llu of at most %llu\n", "queued for user", (unsigned long long)s->queued,
	       (unsigned long long)s->queued_max);
}

json_t *cli_proc_signals_json(const struct kl_detail *e)
{
	const struct kl_abi_detail_signals *s = &e->signals;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "pending", signals_json(s->pending),
			 "pending_process", signals_json(s->pending_process), "blocked",
			 signals_json(s->blocked), "ignored", signals_json(s->ignored), "caught",
			 signals_json(s->caught), "queued", (json_int_t)s->queued, "queued_max",
			 (json_int_t)s->queued_max);
}

/* -------------------------------------------------------------------- rights */

static uint32_t group_at(const struct kl_detail *e, size_t i)
{
	uint32_t group;

	memcpy(&group, e->text + i * sizeof(group), sizeof(group));
	return group;
}

static const struct {
	const char *name;
	size_t at;
} sets[] = {
	{ "effective", offsetof(struct kl_abi_detail_rights, effective) },
	{ "permitted", offsetof(struct kl_abi_detail_rights, permitted) },
	{ "inheritable", offsetof(struct kl_abi_detail_rights, inheritable) },
	{ "ambient", offsetof(struct kl_abi_detail_rights, ambient) },
	{ "bounding", offsetof(struct kl_abi_detail_rights, bounding) },
};

#define SETS (sizeof(sets) / sizeof(*sets))

static uint64_t set_of(const struct kl_abi_detail_rights *r, size_t i)
{
	uint64_t set;

	memcpy(&set, (const char *)r + sets[i].at, sizeof(set));
	return set;
}

/* All capabilities with a known name; kernels newer than this program may have more. */
static uint64_t known_capabilities(void)
{
	uint64_t all = 0;

	for (unsigned int i = 0; i < 64; i++)
		all |= kl_detail_capability_name(i) ? 1ull << i : 0;
	return all;
}

static void print_capabilities(const char *title, uint64_t set)
{
	printf("  %-13s", title);
	if (!set || set == known_capabilities()) {
		puts(set ? "all capabilities" : "no capabilities");
		return;
	}
	for (unsigned int i = 0; i < 64; i++) {
		const char *name = kl_detail_capability_name(i);

		if (!(set >> i & 1))
			continue;
		if (name)
			printf("%s ", name);
		else
			printf("%u ", i);
	}
	putchar('\n');
}

static void print_ids(const struct kl_detail *e)
{
	const struct kl_abi_detail_rights *r = &e->rights;
	char user[CLI_PROC_ID_MAX];

	printf("  %-13s%s, effective %u, saved %u, filesystem %u\n", "user",
	       cli_proc_user(user, r->uid), r->euid, r->suid, r->fsuid);
	printf("  %-13s%u, effective %u, saved %u, filesystem %u\n", "group", r->gid, r->egid,
	       r->sgid, r->fsgid);
	printf("  %-13s", "groups");
	for (size_t i = 0; i < e->text_bytes / 4; i++) {
		const struct group *group = getgrgid(group_at(e, i));

		if (group)
			printf("%s (%u) ", group->gr_name, group_at(e, i));
		else
			printf("%u ", group_at(e, i));
	}
	putchar('\n');
}

void cli_proc_print_rights(const struct kl_details *list)
{
	static const char *const seccomp[] = { "none", "strict", "filter" };
	const struct kl_abi_detail_rights *r = &list->entry[0].rights;

	print_ids(&list->entry[0]);
	for (size_t i = 0; i < SETS; i++)
		print_capabilities(sets[i].name, set_of(r, i));
	printf("  %-13sseccomp %s, %s%s\n", "other", r->seccomp < 3 ? seccomp[r->seccomp] : "?",
	       r->no_new_privs ? "no new privileges" : "can gain privileges",
	       r->dumpable == 1 ? "" : ", not dumpable");
}

json_t *cli_proc_rights_json(const struct kl_detail *e)
{
	const struct kl_abi_detail_rights *r = &e->rights;
	json_t *groups = json_array(), *to;

	for (size_t i = 0; i < e->text_bytes / 4; i++)
		json_array_append_new(groups, json_integer(group_at(e, i)));
	to = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:b, s:I, s:I}", "uid",
		       (json_int_t)r->uid, "euid", (json_int_t)r->euid, "suid", (json_int_t)r->suid,
		       "fsuid", (json_int_t)r->fsuid, "gid", (json_int_t)r->gid, "egid",
		       (json_int_t)r->egid, "sgid", (json_int_t)r->sgid, "fsgid",
		       (json_int_t)r->fsgid, "groups", groups, "securebits",
		       (json_int_t)r->securebits, "no_new_privs", (int)r->no_new_privs, "seccomp",
		       (json_int_t)r->seccomp, "dumpable", (json_int_t)r->dumpable);
	for (size_t i = 0; i < SETS; i++) {
		json_t *names = json_array();

		for (unsigned int bit = 0; bit < 64; bit++) {
			const char *name = kl_detail_capability_name(bit);

			if (set_of(r, i) >> bit & 1)
				json_array_append_new(names,
						      name ? json_string(name) : json_integer(bit));
		}
		json_object_set_new(to, sets[i].name, names);
	}
	json_object_set_new(to, "login_uid",
			    r->login_uid == ~0u ? json_null() : json_integer(r->login_uid));
	return to;
}

/* -------------------------------------------------------------------- limits */

static json_t *limit_json(uint64_t limit)
{
	return limit == KL_DETAIL_UNLIMITED ? json_null() : json_integer((json_int_t)limit);
}

static void add_limit(struct cli_table *table, uint64_t limit)
{
	if (limit == KL_DETAIL_UNLIMITED)
		cli_table_add(table, "unlimited");
	else
		cli_table_add(table, "%llu", (unsigned long long)limit);
}

void cli_proc_print_limits(const struct kl_details *list)
{
	struct cli_table *table = cli_table_create("limit|>soft|>hard|unit");
	static const char *const units[KL_DETAIL_LIMITS_NUMBER] = {
		"s", "B", "B",	   "B",	      "B", "B", "processes", "files",
		"B", "B", "locks", "signals", "B", "",	"",	     "us",
	};

	for (unsigned int i = 0; i < KL_DETAIL_LIMITS_NUMBER; i++) {
		cli_table_add(table, "%s", kl_detail_limit_name(i));
		add_limit(table, list->entry[0].limits.soft[i]);
		add_limit(table, list->entry[0].limits.hard[i]);
		cli_table_add(table, "%s", units[i]);
	}
	cli_table_print(table, stdout, 2);
}

json_t *cli_proc_limits_json(const struct kl_detail *e)
{
	json_t *to = json_object();

	for (unsigned int i = 0; i < KL_DETAIL_LIMITS_NUMBER; i++)
		json_object_set_new(to, kl_detail_limit_name(i),
				    json_pack("{s:o, s:o}", "soft", limit_json(e->limits.soft[i]),
					      "hard", limit_json(e->limits.hard[i])));
	return to;
}

/* ------------------------------------------------------------------ affinity */

static bool has_bit(const char *bits, size_t bytes, size_t i)
{
	return i / 8 < bytes && (unsigned char)bits[i / 8] >> i % 8 & 1;
}

/* Print numbers as ranges, such as "0-3,7". */
static void print_bits(const char *title, const char *bits, size_t bytes)
{
	const char *separator = "";

	printf("  %-6s", title);
	for (size_t i = 0; i < bytes * 8; i++) {
		size_t first = i;

		if (!has_bit(bits, bytes, i))
			continue;
		while (has_bit(bits, bytes, i + 1))
			i++;
		printf(first == i ? "%s%zu" : "%s%zu-%zu", separator, first, i);
		separator = ",";
	}
	putchar('\n');
}

void cli_proc_print_affinity(const struct kl_details *list)
{
	const struct kl_detail *e = &list->entry[0];

	print_bits("CPUs", e->text, e->text_bytes);
	print_bits("nodes", e->more, e->more_bytes);
}

static json_t *bits_json(const char *bits, size_t bytes)
{
	json_t *to = json_array();

	for (size_t i = 0; i < bytes * 8; i++)
		if (has_bit(bits, bytes, i))
			json_array_append_new(to, json_integer((json_int_t)i));
	return to;
}

json_t *cli_proc_affinity_json(const struct kl_detail *e)
{
	return json_pack("{s:o, s:o}", "cpus", bits_json(e->text, e->text_bytes), "nodes",
			 bits_json(e->more, e->more_bytes));
}
