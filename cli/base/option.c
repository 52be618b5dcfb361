// SPDX-License-Identifier: GPL-2.0
/* Parse command lines and print usage texts, both from the tables of the subcommands. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "common.h"
#include "config.h"
#include "foreign.h"
#include "output.h"

/* The entry of a configuration file whose option is being handled, for messages. */
static const struct cli_config_entry *current;

static const char config_hint[] = "See also: man kernlens.conf";

/* Common options that precede the subcommand: files do not replace them. */
static bool common_given[8];

const struct cli_option cli_common_options[] = {
	{ CLI_KEY_JSON, "json", NULL, "write JSON, including errors" },
	{ CLI_KEY_COLOR, "color", "WHEN", "auto (default), always or never" },
	{ CLI_KEY_NO_PAGER, "no-pager", NULL, "do not use a pager" },
	{ CLI_KEY_NO_CONFIG, "no-config", NULL, "ignore configuration files" },
	{ 'h', "help", NULL, "show this help" },
	{},
};

static const struct cli_option *find_in(const struct cli_option *options, int key, const char *name,
					size_t length)
{
	for (; options && options->name; options++)
		if (name ? !strncmp(options->name, name, length) && !options->name[length] :
			   options->key == key)
			return options;
	return NULL;
}

static const struct cli_option *find_option(const struct cli_command *command, int key,
					    const char *name, size_t length)
{
	const struct cli_option *option = find_in(command->ops->options, key, name, length);

	if (!option)
		option = find_in(command->ops->shared, key, name, length);
	return option ? option : find_in(cli_common_options, key, name, length);
}

/* ------------------------------------------------------------ configuration files */

/* Options that exclude each other: one on the command line replaces those of a file. */
static const char *const groups[] = {
	"|all|pid|user|functions|",
	"|event|maskset|",
	"|overwrite|discard|",
	"|json|format|folded|csv|",
};

static bool is_in(const char *group, const struct cli_option *option)
{
	size_t length = strlen(option->name);
	const char *at = strstr(group, option->name);

	return at && at[-1] == '|' && at[length] == '|';
}

/* Tells whether the first option, on the command line, is one that the caller looks for. */
typedef bool (*match_fn)(const struct cli_option *given, const struct cli_option *option);

static bool is_same(const struct cli_option *a, const struct cli_option *b)
{
	return a == b;
}

static bool excludes(const struct cli_option *a, const struct cli_option *b)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		if (is_in(groups[i], a) && is_in(groups[i], b))
			return true;
	return a == b;
}

/* Is there a letter in the word @at that matches @option? Skips the argument of the last. */
static bool has_letter(const struct cli_parser *parser, int *at, match_fn match,
		       const struct cli_option *option)
{
	bool found = false;

	for (const char *letter = parser->argv[*at] + 1; *letter; letter++) {
		const struct cli_option *other = find_option(parser->command, *letter, NULL, 0);

		if (!other)
			break;
		found |= match(other, option);
		if (!other->arg)
			continue;
		*at += !letter[1];
		break;
	}
	return found;
}

/* Does the command line have an option that matches? Wrong words are reported later. */
static bool is_given(const struct cli_parser *parser, match_fn match,
		     const struct cli_option *option)
{
	for (int i = 1; i < parser->argc && strcmp(parser->argv[i], "--"); i++) {
		const char *word = parser->argv[i];
		const struct cli_option *other;

		if (word[0] != '-' || !word[1]) {
			if (parser->command->ops->runs_command)
				return false;
		} else if (word[1] != '-') {
			if (has_letter(parser, &i, match, option))
				return true;
		} else {
			other = find_option(parser->command, 0, word + 2, strcspn(word + 2, "="));
			if (other && match(other, option))
				return true;
			i += other && cli_takes_word(other) && !strchr(word, '=');
		}
	}
	return false;
}

static bool has_common(const struct cli_parser *parser, int key)
{
	return is_given(parser, is_same, find_in(cli_common_options, key, NULL, 0));
}

static void note_common(const struct cli_parser *parser)
{
	for (size_t i = 0; cli_common_options[i].name; i++)
		common_given[i] |= is_given(parser, is_same, &cli_common_options[i]);
}

static bool is_common_given(const struct cli_option *option)
{
	for (size_t i = 0; cli_common_options[i].name; i++)
		if (common_given[i] && excludes(&cli_common_options[i], option))
			return true;
	return false;
}

static const struct cli_option *option_of(const struct cli_parser *parser,
					  const struct cli_config_entry *entry)
{
	if (*entry->section && strcmp(entry->section, parser->command->name))
		return NULL;
	return find_option(parser->command, 0, entry->key, strlen(entry->key));
}

/* Does an entry that counts more replace this one? */
static bool is_replaced(const struct cli_parser *parser, const struct cli_config_entry *entry,
			const struct cli_option *option)
{
	const struct cli_config *config = parser->config;

	for (size_t i = 0; i < config->n; i++) {
		const struct cli_option *other = option_of(parser, &config->entry[i]);

		if (other && config->entry[i].rank > entry->rank && excludes(other, option))
			return true;
	}
	return false;
}

/* Find out which entries count for this command. */
static void use_config(struct cli_parser *parser)
{
	const struct cli_config *config = cli_config();

	if (config->error) {
		if (parser->command->ops->survives_config)
			return;
		cli_usage_message(config_hint, config->error);
		exit(CLI_USAGE);
	}
	parser->config = config;
	parser->applies = cli_alloc(config->n);
	for (size_t i = 0; i < config->n; i++) {
		const struct cli_option *option = option_of(parser, &config->entry[i]);

		parser->applies[i] = option && !is_common_given(option) &&
				     !is_given(parser, excludes, option) &&
				     !is_replaced(parser, &config->entry[i], option);
	}
}

/* Does the entry of an option without an argument say yes? Exits if it says neither. */
static bool says_yes(const struct cli_parser *parser, const struct cli_config_entry *entry)
{
	if (!entry->value || !strcmp(entry->value, "yes"))
		return true;
	if (strcmp(entry->value, "no"))
		cli_usage_error(parser->command, "\"%s\" must be yes or no", entry->key);
	return false;
}

/* Is the entry's value the option's argument? */
static bool has_value(const struct cli_option *option, const struct cli_config_entry *entry)
{
	if (!option->arg || cli_takes_word(option))
		return option->arg;
	return entry->value && strcmp(entry->value, "yes") && strcmp(entry->value, "no");
}

static int take_option(struct cli_parser *parser, const struct cli_option *option);

/* The key of the next option from a file, or 0. */
static int parse_config(struct cli_parser *parser)
{
	while (parser->config && parser->next < parser->config->n) {
		const struct cli_config_entry *entry = &parser->config->entry[parser->next];
		const struct cli_option *option = option_of(parser, entry);
		int key = 0;

		if (!parser->applies[parser->next++])
			continue;
		current = entry;
		parser->arg = NULL;
		if (cli_takes_word(option) && (!entry->value || !*entry->value))
			cli_usage_error(parser->command, "\"%s\" requires a value: %s", entry->key,
					option->arg);
		if (has_value(option, entry))
			parser->arg = entry->value;
		if (parser->arg || says_yes(parser, entry))
			key = take_option(parser, option);
		if (key)
			return key;
		current = NULL;
	}
	return 0;
}

/* -------------------------------------------------------------------- the command line */

void cli_parser_init(struct cli_parser *parser, const struct cli_command *command, int argc,
		     char **argv)
{
	*parser = (struct cli_parser){
		.command = command,
		.argc = argc,
		.at = 1,
		.argv = argv,
		.words = argv + 1,
		.n_before = -1,
	};
	/* Report errors as JSON even if they come before --json. */
	if (has_common(parser, CLI_KEY_JSON))
		cli_settings.json = true;
	if (!command->ops->exec)
		note_common(parser);
	else if (cli_settings.config && !has_common(parser, CLI_KEY_NO_CONFIG) &&
		 !has_common(parser, 'h'))
		use_config(parser);
}

static void offer_options(struct kl_near *near, const struct cli_option *options)
{
	for (; options && options->name; options++)
		kl_near_offer(near, options->name);
}

static void unknown_option(const struct cli_command *command, const char *word)
{
	char *name = strndupa(word + 2, strcspn(word + 2, "="));
	const char *answer = cli_foreign_option(command, name);
	struct kl_near near;

	kl_near_init(&near, name, strlen(name));
	offer_options(&near, command->ops->options);
	offer_options(&near, command->ops->shared);
	offer_options(&near, cli_common_options);
	if (answer)
		cli_usage_error(command, "unknown option --%s; %s", name, answer);
	if (near.best)
		cli_usage_error(command, "unknown option --%s; did you mean --%s?", name,
				near.best);
	cli_usage_error(command, "unknown option --%s", name);
}

static void unknown_letter(const struct cli_command *command, char letter)
{
	const char *answer = cli_foreign_option(command, (char[]){ letter, 0 });

	if (answer)
		cli_usage_error(command, "unknown option -%c; %s", letter, answer);
	cli_usage_error(command, "unknown option -%c", letter);
}

/* Handle common options. Returns 0 for these, else the key. */
static int take_option(struct cli_parser *parser, const struct cli_option *option)
{
	switch (option->key) {
	case CLI_KEY_JSON:
		cli_settings.json = true;
		return 0;
	case CLI_KEY_NO_PAGER:
		cli_settings.pager = false;
		return 0;
	case CLI_KEY_NO_CONFIG:
		cli_settings.config = false;
		return 0;
	case CLI_KEY_COLOR:
		if (!strcmp(parser->arg, "auto"))
			cli_settings.color = 0;
		else if (!strcmp(parser->arg, "always"))
			cli_settings.color = 1;
		else if (!strcmp(parser->arg, "never"))
			cli_settings.color = -1;
		else
			cli_usage_error(parser->command,
					"invalid --color \"%s\"; expected auto, always or never",
					parser->arg);
		return 0;
	case 'h':
		if (parser->command->ops->print_help)
			parser->command->ops->print_help();
		else
			cli_print_usage(parser->command);
		exit(cli_finish_output());
	}
	return option->key;
}

static int parse_long(struct cli_parser *parser, char *word)
{
	char *value = strchr(word, '=');
	size_t length = value ? (size_t)(value - word) - 2 : strlen(word) - 2;
	const struct cli_option *option = find_option(parser->command, 0, word + 2, length);

	if (!option)
		unknown_option(parser->command, word);
	if (!option->arg && value)
		cli_usage_error(parser->command, "--%s does not take an argument", option->name);
	if (cli_takes_word(option) && !value && parser->at == parser->argc)
		cli_usage_error(parser->command, "--%s requires an argument: %s", option->name,
				option->arg);
	if (value)
		parser->arg = value + 1;
	else if (cli_takes_word(option))
		parser->arg = parser->argv[parser->at++];
	return take_option(parser, option);
}

static int parse_letter(struct cli_parser *parser)
{
	char letter = *parser->cluster++;
	const struct cli_option *option = find_option(parser->command, letter, NULL, 0);

	if (!option)
		unknown_letter(parser->command, letter);
	if (option->arg) {
		if (!*parser->cluster && parser->at == parser->argc)
			cli_usage_error(parser->command, "-%c requires an argument: %s", letter,
					option->arg);
		parser->arg = *parser->cluster ? parser->cluster : parser->argv[parser->at++];
		parser->cluster = NULL;
	}
	return take_option(parser, option);
}

/**
 * cli_parse - parse the next option
 * @parser: command line
 *
 * Prints an error and exits if the option is invalid. Returns the option's key, or 0 at the end.
 */
int cli_parse(struct cli_parser *parser)
{
	int key;

	current = NULL;
	key = parse_config(parser);
	while (!key) {
		char *word;

		parser->arg = NULL;
		if (parser->cluster && *parser->cluster) {
			key = parse_letter(parser);
			continue;
		}
		parser->cluster = NULL;
		if (parser->at == parser->argc) {
			parser->words[parser->n_words] = NULL;
			return 0;
		}
		word = parser->argv[parser->at++];
		if (word[0] == '-' && word[1] == '-' && word[2]) {
			key = parse_long(parser, word);
		} else if (word[0] == '-' && word[1] && word[1] != '-') {
			parser->cluster = word + 1;
		} else if (word[0] == '-' && word[1] == '-') {
			parser->n_before = parser->n_words;
			while (parser->at < parser->argc)
				parser->words[parser->n_words++] = parser->argv[parser->at++];
		} else {
			parser->words[parser->n_words++] = word;
			while (parser->command->ops->runs_command && parser->at < parser->argc)
				parser->words[parser->n_words++] = parser->argv[parser->at++];
		}
	}
	return key;
}

static void print_options(const struct cli_option *options)
{
	for (; options && options->name; options++) {
		char letter[8] = "    ", left[64];

		if (options->key < 256)
			snprintf(letter, sizeof(letter), "-%c, ", options->key);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, options->name,
			 cli_takes_word(options) ? " " : "", options->arg ? options->arg : "");
		printf("  %-26s  %s\n", left, options->help);
	}
}

/**
 * cli_print_usage - print the usage text of a subcommand
 * @command: subcommand
 */
void cli_print_usage(const struct cli_command *command)
{
	const char *bold = cli_style(stdout, CLI_BOLD), *plain = cli_style(stdout, CLI_PLAIN);

	printf("%susage:%s kernlens %s %s\n\n%s.\n\n", bold, plain, command->name, command->args,
	       command->help);
	print_options(command->ops->shared);
	print_options(command->ops->options);
	print_options(cli_common_options);
	printf("\n%s\nSee also: man kernlens-%s\n", command->ops->text, command->name);
}

/**
 * cli_usage_error - report an invalid command line, and exit
 * @command: subcommand, or NULL
 * @format: one sentence
 */
void cli_usage_error(const struct cli_command *command, const char *format, ...)
{
	char *hint = command && command->ops->exec ?
			     cli_format("Try: kernlens help %s", command->name) :
			     cli_format("Try: kernlens help");
	va_list args;
	char *text;

	va_start(args, format);
	text = cli_format_list(format, args);
	va_end(args);
	if (current) {
		text = cli_config_message(current, true, text);
		hint = cli_format("%s", config_hint);
	}
	cli_usage_message(hint, text);
	exit(CLI_USAGE);
}

/**
 * cli_need_size - read the size of a buffer from the command line
 * @command: the subcommand
 * @text: as typed; if it is no size, the program explains what one looks like and exits
 *
 * Returns the size in bytes.
 */
uint64_t cli_need_size(const struct cli_command *command, const char *text)
{
	uint64_t bytes;

	if (!cli_parse_size(text, &bytes))
		cli_usage_error(command, "invalid size \"%s\" (examples: 512K, 16M)", text);
	return bytes;
}
