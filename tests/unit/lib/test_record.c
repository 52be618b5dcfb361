// SPDX-License-Identifier: GPL-2.0
/*
 * The parts of recording that need no module: directories are made, cleared and discarded without
 * touching anything else, and keys, values and buckets of rules are printed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synth.h"
#include "unit.h"

#define PATH_BYTES 512

static char *base;
static char trace[PATH_BYTES];

static const char *in_trace(const char *name)
{
	static char path[2 * PATH_BYTES];

	snprintf(path, sizeof(path), "%s/%s", trace, name);
	return path;
}

static void put(const char *name)
{
	FILE *file = fopen(in_trace(name), "wx");

	if (!file || fputs("keep", file) < 0 || fclose(file))
		abort();
}

static bool is_there(const char *name)
{
	return !access(in_trace(name), F_OK);
}

/* What a recorder leaves: metadata, streams and its folder. */
static void put_trace(void)
{
	if (mkdir(trace, 0700) && errno != EEXIST)
		abort();
	put("metadata");
	put("cpu0");
	put("cpu17");
	if (mkdir(in_trace(KL_TRACE_FOLDER), 0700))
		abort();
	put(KL_MANIFEST_FILE);
	put(KL_STACKS_FILE);
	put(KL_ADDRESSES_FILE);
}

static void test_clear(void)
{
	unit_check(!kl_record_clear(trace, false), "a directory that does not exist is clear");
	unit_check(!mkdir(trace, 0700) && !kl_record_clear(trace, false), "so is an empty one");
	put_trace();
	unit_check(kl_record_clear(trace, false) == -EEXIST &&
			   strstr(kl_error_text(), "already contains a trace"),
		   "a trace is in the way");
	unit_check(is_there("metadata") && is_there("cpu17") && is_there(KL_STACKS_FILE),
		   "and stays as it is");
	put("cpux");
	unit_check(!kl_record_clear(trace, true), "a trace is cleared by force");
	unit_check(!is_there("metadata") && !is_there("cpu0") && !is_there("cpu17") &&
			   !is_there(KL_TRACE_FOLDER),
		   "all of it is gone");
	unit_check(is_there("cpux"), "but nothing else");
	unit_check(kl_record_clear(trace, true) == -ENOTEMPTY &&
			   strstr(kl_error_text(), "contains other files"),
		   "other files are never cleared");
	unit_check(is_there("cpux"), "and stay");
}

static void test_discard(void)
{
	put_trace();
	kl_record_discard(trace);
	unit_check(!is_there("metadata") && !is_there(KL_TRACE_FOLDER) && is_there("cpux"),
		   "a discarded trace leaves what is not its own");
	unlink(in_trace("cpux"));
	put_trace();
	kl_record_discard(trace);
	unit_check(access(trace, F_OK), "and no directory if there is nothing");
	kl_record_discard(trace);
	unit_check(access(trace, F_OK), "again does no harm");
}

static void test_links(void)
{
	char link[2 * PATH_BYTES];

	put_trace();
	snprintf(link, sizeof(link), "%s/link", base);
	unit_check(!symlink(trace, link) && kl_record_clear(link, true) == -ELOOP,
		   "a symbolic link is not followed");
	kl_record_discard(link);
	unit_check(is_there("metadata") && !unlink(link), "nor by discarding");
	kl_record_discard(trace);
}

static void test_names(void)
{
	char prefix[PATH_BYTES];
	char *made[3];
	struct stat about;
	bool differ, ours = true;

	snprintf(prefix, sizeof(prefix), "%s/made", base);
	for (int i = 0; i < 3; i++) {
		made[i] = kl_record_make_folder(prefix);
		ours = ours && made[i] && !strncmp(made[i], prefix, strlen(prefix)) &&
		       !stat(made[i], &about) && (about.st_mode & 07777) == 0700;
	}
	unit_check(ours, "directories are made for their owner alone");
	differ = strcmp(made[0], made[1]) && strcmp(made[1], made[2]) && strcmp(made[0], made[2]);
	unit_check(differ, "within a second each gets a name of its own");
	for (int i = 0; i < 3; i++) {
		rmdir(made[i]);
		free(made[i]);
	}
	snprintf(prefix, sizeof(prefix), "%s/none/made", base);
	unit_check(!kl_record_make_folder(prefix) && errno == ENOENT &&
			   strstr(kl_error_text(), "cannot create directory"),
		   "a directory that cannot be made is an error");
}

/* -------------------------------------------------------------- aggregates */

static bool prints_key(const struct kl_plan_rule *rule, unsigned int key,
		       const struct kl_abi_entry *entry, const char *expected)
{
	struct kl_buffer text = {};
	bool same;

	kl_print_aggregate_key(&text, rule, key, entry, NULL);
	same = !text.error && text.length == strlen(expected) &&
	       !memcmp(text.data, expected, text.length);
	if (!same)
		printf("# printed: %.*s\n", (int)text.length, text.data);
	kl_buffer_deinit(&text);
	return same;
}

static void test_keys(void)
{
	struct kl_plan_rule rule = {
		.n_keys = 4,
		.key_text = { "comm", NULL, "n", "p" },
		.key = {
			{ .kind = KL_RESULT_STRING },
			{},
			{ .type = KL_TYPE_S32 },
			{ .kind = KL_RESULT_POINTER, .type = KL_TYPE_U64 },
		},
		.value = { .type = KL_TYPE_U64, .format = KL_FORMAT_hex },
	};
	struct kl_abi_entry entry = { .key = { 0, 0, (uint64_t)-7, 0xffff800000001000 } };
	struct kl_buffer text = {};

	memcpy(entry.key, "a\nsixteen bytes!", KL_COMM_LEN);
	unit_check(prints_key(&rule, 0, &entry, "a?sixteen bytes!"), "a text without its controls");
	memcpy(entry.key, "\x9bm \xc3\xa9 \xc3\0.......", KL_COMM_LEN);
	unit_check(prints_key(&rule, 0, &entry, "?m \xc3\xa9 ?"),
		   "nor terminal controls in eight bits, nor a part of a character");
	memcpy(entry.key, "short\0\0\0........", KL_COMM_LEN);
	unit_check(prints_key(&rule, 0, &entry, "short"), "it ends at a NUL");
	unit_check(prints_key(&rule, 2, &entry, "-7"), "a number has its sign");
	rule.key[2].type = KL_TYPE_U64;
	unit_check(prints_key(&rule, 2, &entry, "18446744073709551609"), "or none");
	unit_check(prints_key(&rule, 3, &entry, "0xffff800000001000"), "an address in hex");
	rule.key[1].format = KL_FORMAT_stack;
	rule.key[2].format = KL_FORMAT_stack;
	unit_check(kl_aggregate_key_is_stack(&rule, 2) && !kl_aggregate_key_is_stack(&rule, 3) &&
			   !kl_aggregate_key_is_stack(&rule, 1),
		   "a stack trace is known by its format");
	kl_print_aggregate_value(&text, &rule, 255);
	unit_check(!strcmp(text.data, "0xff"), "a value is printed in its format");
	kl_buffer_deinit(&text);
}

static bool prints_bucket(const struct kl_plan_rule *rule, unsigned int bucket,
			  const char *expected)
{
	struct kl_buffer text = {};
	bool same;

	kl_print_aggregate_bucket(&text, rule, bucket);
	same = !text.error && !strcmp(text.data, expected);
	if (!same)
		printf("# printed: %s\n", text.data);
	kl_buffer_deinit(&text);
	return same;
}

static void test_buckets(void)
{
	const struct kl_plan_rule powers = {};
	const struct kl_plan_rule equal = { .width = 10, .low = -20 };
	const unsigned int last = KL_HIST_BUCKETS - 1;
	char text[64];

	unit_check(prints_bucket(&powers, 0, "0 and below") && prints_bucket(&powers, 1, "1") &&
			   prints_bucket(&powers, 2, "2 to 3") &&
			   prints_bucket(&powers, 5, "16 to 31"),
		   "buckets by powers of two");
	unit_check(prints_bucket(&equal, 0, "below -20") &&
			   prints_bucket(&equal, 1, "-20 to -11") &&
			   prints_bucket(&equal, 3, "0 to 9"),
		   "buckets of equal width");
	snprintf(text, sizeof(text), "%d and above", -20 + 10 * ((int)last - 1));
	unit_check(prints_bucket(&equal, last, text), "the last one is open");
}

int main(void)
{
	base = synth_directory();
	snprintf(trace, sizeof(trace), "%s/trace", base);
	test_clear();
	test_discard();
	test_links();
	test_names();
	test_keys();
	test_buckets();
	synth_remove(base);
	return unit_end();
}
