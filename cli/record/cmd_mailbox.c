// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens mailbox: write a request that a debugger puts into the module's mailbox, for a session
 * on another machine. Everything is compiled here, for that machine's kernel, and checked there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kernlens/mailbox.h>
#include <kernlens/plan_kernel.h>
#include <kernlens/record.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "../session/select.h"

enum {
	KEY_ADDRESS = CLI_KEY_OWN,
	KEY_IF,
	KEY_DO,
	KEY_TYPES,
};

static const struct cli_option options[] = {
	{ 'o', "output", "FILE", "file that gets the request" },
	{ KEY_ADDRESS, "address", "ADDRESS", "where the function is (the module looks it up)" },
	{ KEY_IF, "if", "EXPRESSION", "only hits for which this is not 0" },
	{ KEY_DO, "do", "HANDLER", "what happens at a hit, as after : in -e (log)" },
	{ KEY_TYPES, "types", "FILE", "vmlinux or BTF of that kernel, for names of arguments" },
	{ CLI_KEY_NAME, "name", "NAME", "name of the session" },
	{ CLI_KEY_BUFFER, "buffer", "SIZE", "buffer size per CPU (1M)" },
	{},
};

#define BUFFER_BYTES_DEFAULT (1u << 20)
/* Stands for the address that the module will find. Nothing can be at it. */
#define UNKNOWN_ADDRESS 0xffffffffdead0000ull
#define RETURN ":ret"

/* @function: without :ret */
struct request {
	const struct cli_command *command;
	const char *output;
	const char *condition;
	const char *handler;
	const char *types;
	const char *name;
	uint64_t buffer_bytes;
	uint64_t address; /* 0: not given */
	char *function;
	const char *suffix; /* RETURN, or nothing */
	struct kl_device *device;
	struct kl_schema *schema;
	struct kl_session *session;
	struct kl_plan *plan;
	struct kl_buffer bytes;
};

static int write_request(struct request *r)
{
	return cli_save_buffer(&r->bytes, r->output);
}

/* ---------------------------------------------------------------- hook */

/* Let the plan know one function, and what the caller knows of that kernel. */
static int set_kernel(const struct request *r)
{
	char *line = cli_format("%016llx T %s\n",
				(unsigned long long)(r->address ? r->address : UNKNOWN_ADDRESS),
				r->function);
	int fd = memfd_create("symbols", MFD_CLOEXEC), error;
	char path[64];

	if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line)) {
		error = cli_error(-errno, "cannot write the function's address: %s",
				  strerror(errno));
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		error = kl_plan_set_kernel(r->plan, r->types, path);
		if (error)
			error = cli_library_error(error, NULL);
	}
	if (fd >= 0)
		close(fd);
	free(line);
	return error;
}

static int compile(const struct request *r)
{
	char *text = cli_format("fn:%s%s%s%s%s%s%s", r->function, r->suffix,
				r->condition ? " /" : "", r->condition ? r->condition : "",
				r->condition ? "/" : "", r->handler ? " :" : "",
				r->handler ? r->handler : "");
	int error = kl_plan_add(r->plan, text, KL_HANDLER_log);

	free(text);
	if (!error)
		error = kl_plan_compile(r->plan);
	if (error == -EINVAL) {
		cli_usage_message("Try: man kernlens-record", kl_error_text());
		return CLI_USAGE;
	}
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

static int define(struct request *r, const struct kl_abi_session *config)
{
	const struct kl_record_source source = {
		.device = r->device,
		.session = r->session,
		.schema = r->schema,
		.config = config,
		.scope = "all",
	};
	struct kl_abi_variables variables = {};
	int error = kl_record_apply(r->session, r->plan);

	cli_note_lines(kl_plan_note(r->plan));
	if (!error)
		error = kl_record_apply_variables(&source, r->plan, &variables);
	if (!error)
		error = kl_record_publish(&source, r->plan);
	if (!error)
		error = kl_session_start(r->session);
	if (!error)
		error = kl_mailbox_hook(r->session, &r->bytes);
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

static int build_hook(struct request *r)
{
	struct kl_abi_session config = { .mode = KL_MODE_OVERWRITE };
	int status;

	if (r->name)
		snprintf(config.name, sizeof(config.name), "%s", r->name);
	else
		snprintf(config.name, sizeof(config.name), "hook %.20s", r->function);
	if (kl_record_set_buffers(r->device, r->buffer_bytes, &config))
		return cli_library_error(-EINVAL, NULL);
	r->session = kl_session_create(r->device, &config);
	r->plan = kl_plan_create(r->schema);
	if (!r->session || !r->plan)
		return cli_library_error(-errno, NULL);
	if (!r->address)
		kl_mailbox_set_symbol(r->session, UNKNOWN_ADDRESS, r->function);
	status = set_kernel(r);
	if (!status)
		status = compile(r);
	return status ? status : define(r, &config);
}

static bool is_name(const char *text)
{
	return *text && !strpbrk(text, "/: \t,*?[");
}

static int hook(struct request *r, const char *place)
{
	size_t length = strlen(place);
	bool is_return = length > strlen(RETURN) &&
			 !strcmp(place + length - strlen(RETURN), RETURN);
	int status = CLI_FAILED;

	r->function = strndup(place, length - (is_return ? strlen(RETURN) : 0));
	r->suffix = is_return ? RETURN : "";
	if (!r->function || !is_name(r->function))
		cli_usage_error(r->command, "\"%s\" is not the name of one function", place);
	r->device = kl_device_offline();
	r->schema = kl_schema_create();
	if (r->device && r->schema)
		status = build_hook(r);
	else
		cli_library_error(-ENOMEM, NULL);
	if (!status)
		status = write_request(r);
	kl_plan_destroy(r->plan);
	kl_session_close(r->session);
	kl_schema_destroy(r->schema);
	kl_device_close(r->device);
	free(r->function);
	return status;
}

/* ---------------------------------------------------------------- others */

static uint32_t take_id(const struct request *r, const char *text)
{
	uint64_t id;

	if (!cli_parse_unsigned(text, UINT32_MAX, &id) || !id)
		cli_usage_error(r->command, "\"%s\" is not the number of a session", text);
	return (uint32_t)id;
}

static int unhook(struct request *r, const char *session)
{
	int error = kl_mailbox_unhook(session ? take_id(r, session) : 0, &r->bytes);

	return error ? cli_library_error(error, NULL) : write_request(r);
}

static int use(struct request *r, const char *session, const char *maskset)
{
	int error = kl_mailbox_use(take_id(r, session), maskset, &r->bytes);

	return error ? cli_library_error(error, NULL) : write_request(r);
}

static void take_option(struct request *r, const struct cli_parser *parser, int key)
{
	switch (key) {
	case 'o':
		r->output = parser->arg;
		break;
	case KEY_ADDRESS:
		r->address = strtoull(parser->arg, NULL, 16);
		if (!(r->address >> 63))
			cli_usage_error(r->command, "\"%s\" is not a kernel address in hexadecimal",
					parser->arg);
		break;
	case KEY_IF:
		r->condition = parser->arg;
		break;
	case KEY_DO:
		r->handler = parser->arg;
		break;
	case KEY_TYPES:
		r->types = parser->arg;
		break;
	case CLI_KEY_NAME:
		r->name = cli_take_name(parser);
		break;
	case CLI_KEY_BUFFER:
		r->buffer_bytes = cli_need_size(r->command, parser->arg);
		break;
	}
}

static int exec_mailbox(const struct cli_command *self, int argc, char **argv)
{
	struct request r = { .command = self, .buffer_bytes = BUFFER_BYTES_DEFAULT };
	struct cli_parser parser;
	int key, status = CLI_USAGE;
	char **words;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		take_option(&r, &parser, key);
	words = parser.words;
	if (!r.output)
		cli_usage_error(self, "no file is given for the request (-o FILE)");
	if (parser.n_words == 2 && !strcmp(words[0], "hook"))
		status = hook(&r, words[1]);
	else if (parser.n_words >= 1 && parser.n_words <= 2 && !strcmp(words[0], "unhook"))
		status = unhook(&r, parser.n_words == 2 ? words[1] : NULL);
	else if (parser.n_words == 3 && !strcmp(words[0], "use"))
		status = use(&r, words[1], words[2]);
	else
		cli_usage_error(self,
				"expected: hook FUNCTION, unhook [SESSION] or use SESSION MASKSET");
	kl_buffer_deinit(&r.bytes);
	return status;
}

const struct cli_command_ops cmd_mailbox = {
	.options = options,
	.text = "For debuggers: the gdb commands of kernlens use it. The request creates a\n"
		"session on the stopped machine, or ends one, or changes its maskset. The module\n"
		"there checks it when the machine runs again.\n"
		"\n"
		"  kernlens mailbox -o request hook vfs_read --if 'count > 4096' --types vmlinux\n"
		"  kernlens mailbox -o request unhook\n",
	.exec = exec_mailbox,
};
