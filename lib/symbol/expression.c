// SPDX-License-Identifier: GPL-2.0
/* Compiles an expression into a program; expression.h lists the stages. */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "expression.h"

int kl_expression_compile(struct kl_scope *scope, const char *what, const char *text,
			  unsigned int flags, struct kl_code *code)
{
	struct kl_compiler c = {
		.scope = scope, .what = what, .text = text, .at = text, .code = code
	};
	struct kl_node *node;
	int ret = -EINVAL;

	code->n_ops = 0;
	code->data_bytes = 0;
	code->out_bytes = 0;
	code->may = 0;
	code->note[0] = 0;
	code->result = (struct kl_result){ 0 };
	/* An unescaped string is never longer than its source text. */
	c.strings = malloc(strlen(text) + 1);
	c.nodes = malloc(KL_NODES_MAX * sizeof(*c.nodes));
	if (!c.strings || !c.nodes) {
		ret = kl_fail(ENOMEM, "out of memory");
		goto out;
	}
	node = kl_parse(&c);
	if (node)
		ret = kl_check(&c, node);
	if (node && !ret)
		ret = kl_generate(&c, node, flags);
	if (ret)
		errno = -ret;
out:
	free(c.nodes);
	free(c.strings);
	return ret;
}
