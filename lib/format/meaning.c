// SPDX-License-Identifier: GPL-2.0
/* Symbolic names of numbers: "SIGKILL", "O_RDONLY|O_CLOEXEC", "8:1", "10.0.0.1". */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "../base/base.h"
#include "words.h"

static bool print_words(struct kl_buffer *buffer, const struct kl_words *words, uint64_t number)
{
	const char *choice = NULL;
	bool any = false;

	if (words->choice_mask) {
		choice =
			kl_word_find(words->choices, words->n_choices, number & words->choice_mask);
		if (choice) {
			kl_buffer_add_string(buffer, choice);
			number &= ~words->choice_mask;
			any = true;
		} else if (!words->n_flags) {
			return false;
		}
	}
	for (size_t i = 0; i < words->n_flags && number; i++) {
		const struct kl_word *flag = &words->flags[i];

		if ((number & flag->number) != flag->number)
			continue;
		if (any)
			kl_buffer_add_char(buffer, '|');
		kl_buffer_add_string(buffer, flag->text);
		number &= ~flag->number;
		any = true;
	}
	if (number && any) {
		kl_buffer_add_char(buffer, '|');
		kl_buffer_add_hex(buffer, number);
	}
	return any;
}

static bool print_error(struct kl_buffer *buffer, int64_t number)
{
	const char *name = kl_errno_name(number < 0 ? -number : number);

	if (name)
		kl_buffer_printf(buffer, "%s%s", number < 0 ? "-" : "", name);
	return name;
}

static bool print_mode(struct kl_buffer *buffer, uint64_t number)
{
	static const struct kl_word kinds[] = {
		KL_WORD(S_IFIFO), KL_WORD(S_IFCHR), KL_WORD(S_IFDIR),  KL_WORD(S_IFBLK),
		KL_WORD(S_IFREG), KL_WORD(S_IFLNK), KL_WORD(S_IFSOCK),
	};
	const char *kind = kl_word_find(kinds, KL_ARRAY_SIZE(kinds), number & S_IFMT);

	if (kind)
		kl_buffer_printf(buffer, "%s|0%llo", kind,
				 (unsigned long long)(number & ~(uint64_t)S_IFMT));
	return kind;
}

static bool print_ioctl(struct kl_buffer *buffer, uint64_t number)
{
	static const char *const directions[] = { "_IO", "_IOW", "_IOR", "_IOWR" };
	unsigned int type = number >> 8 & 0xff;

	/* Old numbers such as TCGETS do not encode a direction and size. */
	if (!(number >> 30 & 3))
		return false;
	kl_buffer_printf(buffer, "%s(0x%x, 0x%x, %u)", directions[number >> 30 & 3], type,
			 (unsigned int)number & 0xff, (unsigned int)(number >> 16 & 0x3fff));
	return true;
}

static bool print_ipv4(struct kl_buffer *buffer, uint64_t number)
{
	struct in_addr address = { .s_addr = number };
	char text[INET_ADDRSTRLEN];

	kl_buffer_add_string(buffer, inet_ntop(AF_INET, &address, text, sizeof(text)));
	return true;
}

static bool print_rwbs(struct kl_buffer *buffer, uint64_t number)
{
	/*
	 * The bits are LTTng's, which Trace Compass knows; the letters and their order are the
	 * kernel's.
	 */
	static const char letters[] = "FWDERFFASM";
	static const unsigned char bits[] = { 10, 0, 1, 7, 2, 8, 9, 3, 5, 6 };
	bool any = false;

	for (unsigned int i = 0; i < sizeof(bits); i++) {
		if (!(number >> bits[i] & 1))
			continue;
		kl_buffer_add_char(buffer, letters[i]);
		any = true;
	}
	return any;
}

bool kl_print_meaning(struct kl_buffer *buffer, enum kl_format format, uint64_t number)
{
	switch (format) {
	case KL_FORMAT_errno:
		return print_error(buffer, number);
	case KL_FORMAT_mode:
		return print_mode(buffer, number);
	case KL_FORMAT_ioctl_cmd:
		return print_ioctl(buffer, number);
	case KL_FORMAT_ipv4:
		return print_ipv4(buffer, number);
	case KL_FORMAT_rwbs:
		return print_rwbs(buffer, number);
	case KL_FORMAT_dev:
		kl_buffer_printf(buffer, "%llu:%llu", (unsigned long long)number >> 20,
				 (unsigned long long)number & 0xfffff);
		return true;
	case KL_FORMAT_fd:
		if ((int32_t)number != AT_FDCWD)
			return false;
		kl_buffer_add_string(buffer, "AT_FDCWD");
		return true;
	default:
		if (print_words(buffer, &kl_words_call[format], number))
			return true;
		return print_words(buffer, &kl_words_kernel[format], number);
	}
}
