// SPDX-License-Identifier: GPL-2.0
/* Errors, numbers, near matches, and opening the device and traces. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "common.h"
#include "output.h"

#define NOTES_MAX 10 /* lines of a text */

struct cli_settings cli_settings = { .pager = true, .config = true };

/* Is the error about what the kernel or the user's rights lack? kernlens doctor checks that. */
static bool is_environment(const char *text)
{
	static const char *const words[] = {
		"CAP_",
		"lockdown",
		"BTF",
		"no memory for",
		"kernel's addresses are hidden",
		"not available here",
		"debug information",
		"none of the events",
		"/dev/kernlens",
	};

	if (strstr(text, "kernlens doctor"))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

/* Names in @message may be chosen by any user. */
static void print_error(const char *code, const char *message, const char *hint)
{
	json_t *object;

	if (is_environment(message))
		hint = "Try: kernlens doctor";
	cli_busy(NULL);
	if (!cli_settings.json) {
		char *text = cli_format("%s", message);

		kl_make_plain_message(text);
		fflush(stdout);
		fprintf(stderr, "%skernlens:%s %s\n", cli_style(stderr, CLI_RED),
			cli_style(stderr, CLI_PLAIN), text);
		free(text);
		if (hint)
			fprintf(stderr, "%s\n", hint);
		return;
	}
	object = json_pack("{s:s, s:o, s:s*}", "error", code, "message", cli_json_text(message),
			   "hint", hint);
	cli_json_write(object);
}

char *cli_format_list(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		abort();
	return text;
}

int cli_error(int error, const char *format, ...)
{
	const char *code = error ? kl_errno_name(-error) : NULL;
	va_list args;
	char *text;

	va_start(args, format);
	text = cli_format_list(format, args);
	va_end(args);
	print_error(code ? code : "FAILED", text, NULL);
	free(text);
	return CLI_FAILED;
}

void cli_usage_message(const char *hint, const char *message)
{
	print_error("USAGE", message, hint);
}

/* Does the text begin with a file's name, as such or as the folder of another? */
static bool begins_with(const char *text, const char *name)
{
	size_t length = strlen(name);

	while (length > 1 && name[length - 1] == '/')
		length--;
	return !strncmp(text, name, length) && (text[length] == ':' || text[length] == '/');
}

const char *cli_library_reason(int error)
{
	return *kl_error_text() ? kl_error_text() : strerror(-error);
}

int cli_library_error(int error, const char *format, ...)
{
	const char *said = strdupa(cli_library_reason(error));
	va_list args;
	char *text;

	if (!format)
		return cli_error(error, "%s", said);
	va_start(args, format);
	text = cli_format_list(format, args);
	va_end(args);
	/* The library may name the file itself. */
	if (begins_with(said, text))
		cli_error(error, "%s", said);
	else
		cli_error(error, "%s: %s", text, said);
	free(text);
	return CLI_FAILED;
}

void cli_note(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = cli_format_list(format, args);
	va_end(args);
	kl_make_plain_message(text);
	cli_busy(NULL);
	fflush(stdout);
	fprintf(stderr, "kernlens: %s\n", text);
	free(text);
}

void cli_note_lines(const char *text)
{
	unsigned int n = 0, left = 0;

	for (size_t length; *text; text += length + (text[length] == '\n')) {
		length = strcspn(text, "\n");
		if (n++ < NOTES_MAX)
			cli_note("%.*s", (int)length, text);
		else
			left++;
	}
	if (left)
		cli_note("%u more notes not shown", left);
}

char *cli_format(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = cli_format_list(format, args);
	va_end(args);
	return text;
}

void *cli_alloc(size_t bytes)
{
	void *memory = calloc(1, bytes ? bytes : 1);

	if (!memory) {
		cli_error(-ENOMEM, "out of memory");
		exit(CLI_FAILED);
	}
	return memory;
}

static bool is_fact(const char *entry, char *const *facts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(entry, facts[i], strchr(facts[i], '=') - facts[i] + 1))
			return true;
	return false;
}

char **cli_environment(char *const *facts, size_t n)
{
	size_t own = 0, to = n;
	char **all;

	while (environ[own])
		own++;
	all = cli_alloc((n + own + 1) * sizeof(*all));
	memcpy(all, facts, n * sizeof(*all));
	for (size_t i = 0; i < own; i++)
		if (!is_fact(environ[i], facts, n))
			all[to++] = cli_format("%s", environ[i]);
	return all;
}

void cli_words_free(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}

bool cli_parse_unsigned(const char *text, uint64_t most, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && !*end && *value <= most;
}

bool cli_parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;
	double number;

	if (!isdigit((unsigned char)*text))
		return false;
	number = strtod(text, &end);
	if (*end) {
		unit = strchr(units, toupper((unsigned char)*end));
		if (!unit || (end[1] && strcasecmp(end + 1, "B") && strcasecmp(end + 1, "iB")))
			return false;
		for (; unit >= units; unit--)
			number *= 1024;
	}
	if (number < 1 || number > 1ull << 60)
		return false;
	*bytes = (uint64_t)number;
	return true;
}

bool cli_parse_seconds(const char *text, uint64_t *ns)
{
	char *end;
	double seconds;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	seconds = strtod(text, &end);
	if (end == text || *end || seconds > 1e9)
		return false;
	*ns = (uint64_t)(seconds * 1e9 + 0.5);
	return true;
}

bool cli_parse_percent(const char *text, double *percent)
{
	char *end;

	*percent = strtod(text, &end);
	return end != text && !*end && *percent >= 0 && *percent <= 100;
}

static char *print_scaled(char text[CLI_NUMBER_MAX], uint64_t bytes, unsigned int base,
			  const char *const units[5])
{
	double number = (double)bytes;
	unsigned int unit = 0;

	for (; number >= base && unit < 4; unit++)
		number /= base;
	snprintf(text, CLI_NUMBER_MAX, "%.*f %s", unit && number < 100 ? 1 : 0, number,
		 units[unit]);
	return text;
}

char *cli_print_bytes(char text[CLI_NUMBER_MAX], uint64_t bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };

	return print_scaled(text, bytes, 1000, units);
}

char *cli_print_memory(char text[CLI_NUMBER_MAX], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };

	return print_scaled(text, bytes, 1024, units);
}

char *cli_print_size(char text[CLI_NUMBER_MAX], uint64_t bytes)
{
	bool whole = bytes % (1 << 20) == 0;

	snprintf(text, CLI_NUMBER_MAX, "%llu %s", (unsigned long long)(bytes >> (whole ? 20 : 10)),
		 whole ? "MiB" : "KiB");
	return text;
}

char *cli_print_count(char text[CLI_NUMBER_MAX], uint64_t count)
{
	char digits[CLI_NUMBER_MAX], *to = text;
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = 0;
	return text;
}

char *cli_print_ns(char text[CLI_NUMBER_MAX], uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s " };
	double number = (double)ns;
	unsigned int unit = 0;

	for (; number >= 999.95 && unit < 3; unit++)
		number /= 1000;
	snprintf(text, CLI_NUMBER_MAX, "%.*f %s",
		 !unit		 ? 0 :
		 number < 9.9995 ? 3 :
		 number < 99.995 ? 2 :
				   1,
		 number, units[unit]);
	return text;
}

const char *cli_clean_text(const char *text, size_t bytes)
{
	static char clean[4 * KL_DETAIL_PATH_BYTES_MAX + 1];
	char *to = clean;

	for (size_t i = 0, step; i < bytes && to < clean + sizeof(clean) - 4; i += step) {
		step = kl_plain_length(text + i, text + bytes);
		if (step)
			memcpy(to, text + i, step);
		to += step ? (int)step : sprintf(to, "\\x%02x", (unsigned char)text[i]);
		step += !step;
	}
	*to = 0;
	return clean;
}

char *cli_print_wall(char text[CLI_NUMBER_MAX], uint64_t ns)
{
	const time_t seconds = (time_t)(ns / 1000000000u);
	struct tm local;

	if (!ns || !localtime_r(&seconds, &local) ||
	    !strftime(text, CLI_NUMBER_MAX, "%Y-%m-%d %H:%M:%S", &local))
		strcpy(text, "-");
	return text;
}

char *cli_print_time(char text[CLI_NUMBER_MAX], uint64_t ns)
{
	size_t n = strlen(cli_print_ns(text, ns));

	/* Drop the space that pads units in tables. */
	if (n && text[n - 1] == ' ')
		text[n - 1] = 0;
	return text;
}

const char *cli_clean_comm(const char comm[KL_COMM_LEN])
{
	return cli_clean_text(comm, strnlen(comm, KL_COMM_LEN));
}

bool cli_read_line(const char *path, char *text, size_t bytes, const char *missing)
{
	FILE *file = fopen(path, "re");
	bool has = file && fgets(text, (int)bytes, file);

	if (has)
		text[strcspn(text, "\n")] = 0;
	else
		snprintf(text, bytes, "%s", missing);
	if (file)
		fclose(file);
	return has;
}

char *cli_disk_name(const char *number, const char *boot_id)
{
	char id[64], path[64], target[PATH_MAX];
	ssize_t length;

	if (!cli_read_line("/proc/sys/kernel/random/boot_id", id, sizeof(id), "") ||
	    strcmp(id, boot_id))
		return cli_format("%s", number);
	snprintf(path, sizeof(path), "/sys/dev/block/%s", number);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return cli_format("%s", number);
	target[length] = 0;
	return cli_format("%s", strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
}

const char *cli_user_name(uint32_t uid)
{
	const struct passwd *user = getpwuid(uid);

	return user ? user->pw_name : NULL;
}

void cli_print_csv_text(struct kl_buffer *buffer, const char *text, size_t length)
{
	kl_buffer_add_char(buffer, '"');
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '"')
			kl_buffer_add_char(buffer, '"');
		kl_buffer_add_char(buffer, text[i]);
	}
	kl_buffer_add_char(buffer, '"');
}

json_t *cli_json_text(const char *text)
{
	struct kl_buffer buffer = {};
	json_t *value = json_string(text);

	if (value)
		return value;
	kl_print_json_string(&buffer, text, strlen(text));
	if (!buffer.error)
		value = json_loads(buffer.data, JSON_DECODE_ANY, NULL);
	kl_buffer_deinit(&buffer);
	return value ? value : json_string("");
}

json_t *cli_json_clock(const struct kl_trace_clock *clock)
{
	if (!clock->known)
		return NULL;
	return json_pack("{s:b, s:I, s:I, s:I}", "synchronized", clock->synchronized, "offset_ns",
			 (json_int_t)clock->offset_ns, "max_error_ns",
			 (json_int_t)clock->max_error_ns, "estimated_error_ns",
			 (json_int_t)clock->estimated_error_ns);
}

const char *cli_json_get_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

uint64_t cli_json_get_number(const json_t *object, const char *key)
{
	const json_int_t number = json_integer_value(json_object_get(object, key));

	return number > 0 ? (uint64_t)number : 0;
}

json_t *cli_json_stack(const struct kl_stacks *stacks, uint64_t id)
{
	struct kl_buffer text = { 0 };
	json_t *value = NULL;

	kl_print_stack_json(&text, stacks, id);
	if (!text.error)
		value = json_loadb(text.data, text.length, JSON_DECODE_ANY, NULL);
	kl_buffer_deinit(&text);
	return value ? value : json_null();
}

int cli_json_write(json_t *document)
{
	int failed = !document ||
		     json_dumpf(document, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII) ||
		     putchar('\n') == EOF || fflush(stdout);

	json_decref(document);
	return failed ? CLI_FAILED : CLI_OK;
}

struct kl_device *cli_open_device(void)
{
	struct kl_device *device = kl_device_open(NULL);
	int error = -errno;

	if (device)
		return device;
	if (error == -ENOENT || error == -ENXIO || error == -ENODEV)
		cli_error(
			error,
			"the kernlens module is not loaded (%smodprobe kernlens); kernlens doctor checks why",
			geteuid() ? "sudo " : "");
	else if (error == -EACCES || error == -EPERM)
		cli_error(error, "permission denied: " KL_DEVICE_PATH
				 " is accessible only to root and members of the group kernlens "
				 "(sudo usermod -aG kernlens $USER, then log in again)");
	else
		cli_library_error(error, NULL);
	return NULL;
}

int cli_rights(uint32_t *may)
{
	struct kl_device *device = cli_open_device();

	if (!device)
		return CLI_FAILED;
	*may = kl_device_info(device)->may;
	kl_device_close(device);
	return CLI_OK;
}

struct kl_trace *cli_open_trace(const char *path)
{
	struct kl_trace *trace;
	int error;

	if (access(path, F_OK)) {
		cli_error(-errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	trace = kl_trace_open(path);
	error = -errno;
	if (trace)
		return trace;
	if (error == -ENOENT || error == -ENOTDIR)
		cli_error(error, "%s is not a trace: it has no file \"metadata\"", path);
	else
		cli_library_error(error, "%s", path);
	return NULL;
}

static const struct {
	const char *name;
	const char *help;
} masksets[] = {
	[KL_MASKSET_RNOTHING] = { "RNOTHING", "No events" },
	[KL_MASKSET_RALL] = { "RALL", "All events except those that must be requested by name" },
	[KL_MASKSET_RDEFAULT] = { "RDEFAULT",
				  "Low-cost events that most analyses need: tasks, system calls, "
				  "I/O" },
};

const char *cli_maskset_name(unsigned int id)
{
	return id < KL_MASKSET_FIRST_USER ? masksets[id].name : "user";
}

const char *cli_maskset_help(unsigned int id)
{
	return masksets[id].help;
}

int cli_maskset_find(const char *name)
{
	for (int id = 0; id < KL_MASKSET_FIRST_USER; id++)
		if (!strcasecmp(name, masksets[id].name) ||
		    !strcasecmp(name, masksets[id].name + 1))
			return id;
	return -1;
}
