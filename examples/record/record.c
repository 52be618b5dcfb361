// SPDX-License-Identifier: GPL-2.0
/*
 * record TRACE EVENTS COMMAND [ARGUMENT...]: record EVENTS, as option -e of kernlens takes them, of
 * COMMAND and its children into the new directory TRACE, and print how often the rules among them
 * were hit. It shows how your own program can record; after `make install`, build it with
 *
 *	cc -o record record.c $(pkg-config --cflags --libs kernlens)
 *
 * As an example, `record trace 'syscalls,sched_switch,syscall_exit_read:count by comm' ls` records
 * the system calls of ls, which `kernlens print trace` prints, and counts its reads.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kernlens/kernlens.h>

/* All that a session is made from. What has not been created is NULL. */
struct session {
	struct kl_device *device;
	struct kl_schema *schema;
	struct kl_plan *plan;
	struct kl_session *session;
	struct kl_abi_session config;
	struct kl_record_source source;
	struct kl_recorder *recorder;
};

/* Create a session that is ready to start. Returns 0, or -1 with an error text. */
static int open_session(struct session *s, const char *events)
{
	struct kl_abi_variables variables;

	memset(&variables, 0, sizeof(variables));
	s->device = kl_device_open(NULL);
	s->schema = kl_schema_create();
	if (!s->device || !s->schema || kl_record_set_buffers(s->device, 0, &s->config))
		return -1;
	snprintf(s->config.name, sizeof(s->config.name), "example");
	s->session = kl_session_create(s->device, &s->config);
	s->plan = s->session ? kl_plan_create(s->schema) : NULL;
	if (!s->plan)
		return -1;
	s->source.device = s->device;
	s->source.session = s->session;
	s->source.schema = s->schema;
	s->source.config = &s->config;
	s->source.scope = "tasks";
	if (kl_record_prepare_plan(s->device, s->plan) ||
	    kl_plan_add(s->plan, events, KL_HANDLER_log) || kl_plan_compile(s->plan) ||
	    kl_record_omit_absent(s->device, s->schema, s->plan, NULL) ||
	    kl_record_apply(s->session, s->plan) ||
	    kl_record_apply_variables(&s->source, s->plan, &variables))
		return -1;
	return kl_session_filter(s->session, KL_FILTER_TASKS, 0);
}

/* Print what happens to the trace meanwhile, such as a full disk. */
static void print_notice(void *context, const struct kl_record_notice *notice)
{
	(void)context;
	fprintf(stderr, "%s: %s\n", notice->path,
		notice->error ? kl_error_text() : "some records are missing");
}

/* The child waits for a byte before it becomes the command. */
static pid_t start_child(char **command, int *go)
{
	int ends[2];
	pid_t pid;
	char byte;

	if (pipe(ends))
		return -1;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) == 1) {
			close(ends[0]);
			execvp(command[0], command);
			perror(command[0]);
		}
		_exit(127);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

/* Record until the child has exited. Returns 0, or a negative number with an error text. */
static int record(struct session *s, const char *path, pid_t child, int go)
{
	struct kl_recorder_params params;
	struct pollfd data = { -1, POLLIN, 0 };

	memset(&params, 0, sizeof(params));
	params.path = path;
	params.notify = print_notice;
	s->recorder = kl_recorder_create(&s->source, &params);
	if (!s->recorder || kl_recorder_attach(s->recorder) || kl_session_start(s->session) ||
	    kl_session_tasks(s->session, child, KL_TASK_ADD | KL_TASK_INHERIT | KL_TASK_EXEC) < 0 ||
	    kl_recorder_began(s->recorder) || write(go, "", 1) != 1)
		return -1;
	data.fd = kl_recorder_fd(s->recorder);
	while (!waitpid(child, NULL, WNOHANG)) {
		poll(&data, 1, 50);
		if (kl_recorder_drain(s->recorder))
			return -1;
	}
	if (kl_session_stop(s->session) || kl_recorder_ended(s->recorder))
		return -1;
	return kl_recorder_finish(s->recorder);
}

/* Print the counts that the rules have kept by keys. */
static int print_rules(const struct session *s)
{
	unsigned int cpus = kl_device_info(s->device)->cpus;
	struct kl_buffer text = { NULL, 0, 0, 0 };
	const struct kl_plan_rule *rule;
	struct kl_aggregate found;

	for (unsigned int i = 0; (rule = kl_plan_rule(s->plan, i)); i++) {
		if (kl_aggregate_read(s->session, cpus, rule, &found))
			return -1;
		printf("%s\n", rule->text);
		for (size_t n = 0; n < found.n; n++) {
			kl_buffer_reset(&text);
			for (unsigned int k = 0; k < rule->n_keys; k++) {
				if (!rule->key_text[k])
					continue;
				kl_buffer_printf(&text, " %s=", rule->key_text[k]);
				kl_print_aggregate_key(&text, rule, k, &found.entry[n].numbers,
						       NULL);
			}
			printf("  %" PRIu64 "%.*s\n", (uint64_t)found.entry[n].numbers.count,
			       (int)text.length, text.data);
		}
		kl_aggregate_deinit(&found);
	}
	kl_buffer_deinit(&text);
	return 0;
}

int main(int argc, char **argv)
{
	struct session s;
	int failed, go = -1;
	pid_t child;

	if (argc < 4) {
		fprintf(stderr, "usage: %s TRACE EVENTS COMMAND [ARGUMENT...]\n", argv[0]);
		return 2;
	}
	memset(&s, 0, sizeof(s));
	child = start_child(argv + 3, &go);
	failed = child < 0 || open_session(&s, argv[2]) || record(&s, argv[1], child, go) ||
		 print_rules(&s);
	if (failed)
		fprintf(stderr, "%s: %s\n", argv[0],
			*kl_error_text() ? kl_error_text() : strerror(errno));
	else
		printf("%" PRIu64 " records\n", kl_recorder_counts(s.recorder)->read.read);
	close(go);
	kl_recorder_destroy(s.recorder);
	kl_session_close(s.session);
	kl_plan_destroy(s.plan);
	kl_schema_destroy(s.schema);
	kl_device_close(s.device);
	return failed;
}
