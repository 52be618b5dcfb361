// SPDX-License-Identifier: GPL-2.0
/* Numbers, addresses and strings as strace prints them. */
#include <fcntl.h>

#include "../../base/base.h"
#include "call.h"

void kl_call_address(struct kl_buffer *out, uint64_t address)
{
	if (address)
		kl_buffer_add_hex(out, address);
	else
		kl_buffer_add_string(out, "NULL");
}

void kl_call_hex(struct kl_buffer *out, uint64_t number)
{
	kl_buffer_printf(out, "%#llx", (unsigned long long)number);
}

void kl_call_octal(struct kl_buffer *out, uint64_t number)
{
	kl_buffer_printf(out, "%#03llo", (unsigned long long)number);
}

void kl_call_fd(struct kl_buffer *out, uint64_t number)
{
	if ((int32_t)number == AT_FDCWD)
		kl_buffer_add_string(out, "AT_FDCWD");
	else
		kl_buffer_add_signed(out, (int32_t)number);
}

/* An octal escape is as short as possible, unless a digit follows. */
static void add_octal(struct kl_buffer *out, uint8_t byte, bool digit_follows)
{
	kl_buffer_printf(out, digit_follows ? "\\%03o" : "\\%o", byte);
}

static void add_byte(struct kl_buffer *out, const uint8_t *bytes, size_t i, size_t n)
{
	static const char escapes[] = "\tt\nn\vv\ff\rr\"\"\\\\";
	uint8_t byte = bytes[i];

	for (size_t k = 0; k < sizeof(escapes) - 1; k += 2) {
		if ((uint8_t)escapes[k] != byte)
			continue;
		kl_buffer_add_char(out, '\\');
		kl_buffer_add_char(out, escapes[k + 1]);
		return;
	}
	if (byte >= ' ' && byte < 0x7f)
		kl_buffer_add_char(out, (char)byte);
	else
		add_octal(out, byte, i + 1 < n && bytes[i + 1] >= '0' && bytes[i + 1] <= '9');
}

void kl_call_quote(struct kl_buffer *out, const uint8_t *bytes, size_t n, enum kl_quote how,
		   bool has_more)
{
	kl_buffer_add_char(out, '"');
	for (size_t i = 0; i < n; i++) {
		if (how == KL_QUOTE_HEX)
			kl_buffer_printf(out, "\\x%02x", bytes[i]);
		else
			add_byte(out, bytes, i, n);
	}
	kl_buffer_add_string(out, has_more ? "\"..." : "\"");
}

bool kl_call_string(struct kl_call *c, uint64_t address)
{
	uint8_t text[KL_CALL_STRING_MAX + 1];
	size_t got = kl_call_peek_some(c, address, text, sizeof(text)), n;

	if (!address || !got)
		return false;
	for (n = 0; n < got && text[n]; n++)
		;
	if (n > KL_CALL_STRING_MAX)
		n = KL_CALL_STRING_MAX;
	kl_call_quote(c->out, text, n, KL_QUOTE_PLAIN, n == got || text[n]);
	return true;
}

void kl_call_bytes(struct kl_call *c, uint64_t address, uint64_t length, enum kl_quote how)
{
	uint8_t bytes[KL_CALL_STRING_MAX];
	size_t n = length < sizeof(bytes) ? length : sizeof(bytes);

	if (!address || !kl_call_peek(c, address, bytes, n))
		kl_call_address(c->out, address);
	else
		kl_call_quote(c->out, bytes, n, how, length > n);
}

bool kl_call_path(struct kl_call *c, unsigned int i, size_t most)
{
	const struct kl_call_text *text = &c->text[i];
	size_t n = text->length < most ? text->length : most;

	if (!text->is_there)
		return false;
	kl_call_quote(c->out, (const uint8_t *)c->texts.data + text->at, n, KL_QUOTE_PLAIN,
		      n < text->length);
	return true;
}

void kl_call_numbers(struct kl_call *c, uint64_t address, unsigned int n)
{
	int32_t numbers[4];

	if (n > KL_ARRAY_SIZE(numbers) ||
	    !kl_call_peek(c, address, numbers, n * sizeof(*numbers))) {
		kl_call_address(c->out, address);
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		kl_buffer_printf(c->out, "%s%d", i ? ", " : "[", numbers[i]);
	kl_buffer_add_char(c->out, ']');
}
