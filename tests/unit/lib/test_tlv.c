// SPDX-License-Identifier: GPL-2.0
/* Tags, lengths and numbers in BER by X.690, encoded and decoded. */
#include <errno.h>
#include <string.h>

#include "../../../lib/format/ber.h"
#include "unit.h"

static bool is_encoded(uint64_t number, bool is_signed, const char *bytes, size_t length)
{
	struct kl_buffer buffer = { 0 };
	struct kl_ber from;
	bool same;

	kl_ber_add_number(&buffer, KL_BER_INTEGER, number, is_signed);
	same = buffer.length == length && !memcmp(buffer.data, bytes, length);
	from = (struct kl_ber){ (const uint8_t *)buffer.data,
				(const uint8_t *)buffer.data + buffer.length, false };
	if (is_signed)
		same &= kl_ber_take_signed(&from, KL_BER_INTEGER, INT64_MIN, INT64_MAX) ==
			(int64_t)number;
	else
		same &= kl_ber_take_unsigned(&from, KL_BER_INTEGER, UINT64_MAX) == number;
	same &= !from.bad && kl_ber_is_empty(&from);
	kl_buffer_deinit(&buffer);
	return same;
}

static void test_numbers(void)
{
	unit_check(is_encoded(0, false, "\2\1\0", 3) && is_encoded(127, true, "\2\1\x7f", 3) &&
			   is_encoded(128, true, "\2\2\0\x80", 4) &&
			   is_encoded(256, false, "\2\2\1\0", 4) &&
			   is_encoded(0xff7f, false, "\2\3\0\xff\x7f", 5) &&
			   is_encoded(~0ull, false, "\2\x9\0\xff\xff\xff\xff\xff\xff\xff\xff", 11),
		   "numbers have their shortest encoding");
	unit_check(is_encoded(-1, true, "\2\1\xff", 3) && is_encoded(-128, true, "\2\1\x80", 3) &&
			   is_encoded(-129, true, "\2\2\xff\x7f", 4) &&
			   is_encoded(1ull << 63, true, "\2\x8\x80\0\0\0\0\0\0\0", 10),
		   "negative ones, too");
}

static bool is_head(uint32_t tag, size_t length, const char *bytes, size_t n)
{
	static uint8_t zeros[70000];
	struct kl_buffer buffer = { 0 };
	struct kl_ber from, value = { 0 };
	uint32_t got = 0;
	bool same;

	kl_ber_add(&buffer, tag, zeros, length);
	same = buffer.length == n + length && !memcmp(buffer.data, bytes, n);
	kl_buffer_reset(&buffer);
	kl_buffer_add(&buffer, zeros, length);
	kl_ber_wrap(&buffer, 0, tag);
	same &= buffer.length == n + length && !memcmp(buffer.data, bytes, n);
	from = (struct kl_ber){ (const uint8_t *)buffer.data,
				(const uint8_t *)buffer.data + buffer.length, false };
	same &= !kl_ber_take(&from, &got, &value) && got == tag && kl_ber_length(&value) == length;
	kl_buffer_deinit(&buffer);
	return same;
}

static void test_heads(void)
{
	unit_check(is_head(KL_BER_PRIVATE(0), 0, "\xe0\0", 2) &&
			   is_head(KL_BER_PRIVATE(30), 127, "\xfe\x7f", 2) &&
			   is_head(KL_BER_CONTEXT(1), 1, "\x81\1", 2),
		   "short tags and lengths");
	unit_check(is_head(KL_BER_PRIVATE(31), 128, "\xff\x1f\x81\x80", 4) &&
			   is_head(KL_BER_PRIVATE(127), 255, "\xff\x7f\x81\xff", 4) &&
			   is_head(KL_BER_PRIVATE(128), 256, "\xff\x81\0\x82\1\0", 6) &&
			   is_head(KL_BER_PRIVATE(16384), 65536, "\xff\x81\x80\0\x83\1\0\0", 8) &&
			   is_head(KL_BER_PRIVATE(65535), 1, "\xff\x83\xff\x7f\1", 5) &&
			   is_head(KL_BER_PRIVATE(KL_BER_NUMBER_MAX), 1, "\xff\xff\xff\xff\x7f\1",
				   6),
		   "long tags and lengths");
}

static int take(const char *bytes, size_t length)
{
	struct kl_ber from = { (const uint8_t *)bytes, (const uint8_t *)bytes + length, false };
	struct kl_ber value;
	uint32_t tag;

	return kl_ber_take(&from, &tag, &value);
}

static void test_bad_heads(void)
{
	unit_check(take("", 0) == -ENODATA && take("\2", 1) == -ENODATA &&
			   take("\xff", 1) == -ENODATA && take("\xff\x81", 2) == -ENODATA &&
			   take("\4\x82\1", 3) == -ENODATA && take("\4\2a", 3) == -ENODATA &&
			   take("\4\x88\xff\xff\xff\xff\xff\xff\xff\xff", 10) == -ENODATA,
		   "truncation is reported");
	unit_check(take("\x30\x80\0\0", 4) == -EINVAL && take("\xff\x80\1\0", 4) == -EINVAL &&
			   take("\xff\x1e\0", 3) == -EINVAL &&
			   take("\xff\x81\x80\x80\x80\0\0", 7) == -EINVAL &&
			   take("\4\x89\1\1\1\1\1\1\1\1\1\0", 12) == -EINVAL &&
			   take("\4\xff\0", 3) == -EINVAL,
		   "indefinite lengths and impossible tags are refused");
	unit_check(!take("\4\x81\1a", 4) && !take("\4\x84\0\0\0\1a", 7),
		   "lengths longer than need be are understood");
}

int main(void)
{
	test_numbers();
	test_heads();
	test_bad_heads();
	return unit_end();
}
