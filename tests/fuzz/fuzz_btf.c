// SPDX-License-Identifier: GPL-2.0
/* BTF (symbol/btf.c, btf_type.c), as a kernel's and as a module's on top of the kernel's. */
#include <unistd.h>

#include "shared.h"
#include "types.h"

static void ask(const struct kl_btf *btf)
{
	uint32_t n = kl_btf_types(btf);
	struct kl_btf_variable variable;
	struct kl_btf_parameter parameter;
	struct kl_btf_member member;
	struct kl_btf_value value;
	struct kl_buffer text = { 0 };

	for (uint32_t id = 0; id < n + 2 && id < 300; id++) {
		const char *name = kl_btf_name(btf, id);

		kl_btf_find(btf, name, ~0u);
		kl_btf_bytes(btf, id);
		kl_btf_is_signed(btf, id);
		kl_btf_elements(btf, id);
		kl_btf_target(btf, id);
		kl_btf_member_find(btf, id, "pid", &member);
		kl_btf_function(btf, name);
		kl_btf_tracepoint(btf, name);
		kl_btf_variable_find(btf, name, &variable);
		kl_btf_value_find(btf, name, &value);
		for (unsigned int i = 0; i < 20; i++) {
			if (!kl_btf_member_at(btf, id, i, &member))
				kl_btf_member_find(btf, id, member.name, &member);
			kl_btf_value_at(btf, id, i, &value);
			kl_btf_parameter_at(btf, id, i, &parameter);
		}
		kl_buffer_reset(&text);
		kl_btf_describe(btf, id, &text);
	}
	kl_buffer_deinit(&text);
}

static void compile(const struct kl_btf *btf)
{
	static const char *const texts[] = { "task->pid == 1",	 "task->comm == \"x\"",
					     "count + 1",	 "current->parent->low",
					     "KIND_B",		 "sizeof",
					     "jiffies",		 "(struct task_struct *)arg1",
					     "current->nonsense" };
	struct kl_scope *scope = kl_scope_create(btf, NULL);
	static struct kl_capture capture;
	struct kl_code code;

	kl_scope_set_function(scope, "do_work");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		kl_expression_compile(scope, "filter", texts[i], 0, &code);
	if (!kl_capture_init(&capture, KL_EV_DYNAMIC, "fn:do_work", "fn", "help"))
		kl_capture_arguments(&capture, scope);
	if (!kl_scope_set_tracepoint(scope, "work"))
		kl_capture_arguments(&capture, scope);
	kl_scope_destroy(scope);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct kl_btf *base;
	struct kl_btf *btf;
	uint8_t file[4096];
	char path[64];
	int fd;

	if (!base)
		base = kl_btf_parse(file, types_make(file), NULL);
	btf = kl_btf_parse(data, size, NULL);
	if (btf) {
		ask(btf);
		compile(btf);
	}
	kl_btf_close(btf);
	btf = kl_btf_parse(data, size, base);
	if (btf)
		ask(btf);
	kl_btf_close(btf);
	/* As a raw file, and as a section of an ELF file. */
	fd = fuzz_file(data, size, path);
	kl_btf_close(kl_btf_open(path));
	close(fd);
	return 0;
}
