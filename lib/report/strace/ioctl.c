// SPDX-License-Identifier: GPL-2.0
/* ioctl: the names of commands, and the arguments of those of terminals and descriptors. */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <asm/termbits.h>

#include "../../base/base.h"
#include "../../format/words.h"
#include "printers.h"

/* What the argument of a command is. */
enum shape {
	SHAPE_ADDRESS,
	SHAPE_NONE,
	SHAPE_VALUE, /* a number, not a pointer */
	SHAPE_HEX,
	SHAPE_NUMBER, /* a pointer to one */
	SHAPE_TERMIOS,
	SHAPE_WINSIZE,
	SHAPE_FLUSH,
	SHAPE_FLOW,
};

struct command {
	uint32_t number;
	enum shape shape;
	bool is_out;
};

static const struct command commands[] = {
	{ TCGETS, SHAPE_TERMIOS, true },     { TCSETS, SHAPE_TERMIOS, false },
	{ TCSETSW, SHAPE_TERMIOS, false },   { TCSETSF, SHAPE_TERMIOS, false },
	{ TIOCGWINSZ, SHAPE_WINSIZE, true }, { TIOCSWINSZ, SHAPE_WINSIZE, false },
	{ TIOCGPGRP, SHAPE_NUMBER, true },   { TIOCSPGRP, SHAPE_NUMBER, false },
	{ TIOCGSID, SHAPE_NUMBER, true },    { TIOCOUTQ, SHAPE_NUMBER, true },
	{ TIOCGPTN, SHAPE_NUMBER, true },    { TIOCSPTLCK, SHAPE_NUMBER, false },
	{ TIOCGPTLCK, SHAPE_NUMBER, true },  { FIONREAD, SHAPE_NUMBER, true },
	{ FIONBIO, SHAPE_NUMBER, false },    { FIOASYNC, SHAPE_NUMBER, false },
	{ TIOCGPTPEER, SHAPE_HEX, false },   { TIOCSCTTY, SHAPE_VALUE, false },
	{ TCSBRK, SHAPE_VALUE, false },	     { TCSBRKP, SHAPE_VALUE, false },
	{ TCFLSH, SHAPE_FLUSH, false },	     { TCXONC, SHAPE_FLOW, false },
	{ FICLONE, SHAPE_VALUE, false },     { FIOCLEX, SHAPE_NONE, false },
	{ FIONCLEX, SHAPE_NONE, false },     { TIOCNOTTY, SHAPE_NONE, false },
	{ TIOCEXCL, SHAPE_NONE, false },     { TIOCNXCL, SHAPE_NONE, false },
	{ TIOCSBRK, SHAPE_NONE, false },     { TIOCCBRK, SHAPE_NONE, false },
	{ TIOCCONS, SHAPE_NONE, false },
};

static const struct command *find_command(uint32_t number)
{
	static const struct command other = { .shape = SHAPE_ADDRESS };

	for (size_t i = 0; i < KL_ARRAY_SIZE(commands); i++)
		if (commands[i].number == number)
			return &commands[i];
	return &other;
}

static void print_name(struct kl_buffer *out, uint32_t number)
{
	static const char *const directions[] = { "_IOC_NONE", "_IOC_WRITE", "_IOC_READ",
						  "_IOC_READ|_IOC_WRITE" };
	const char *name = kl_word_find(kl_words_ioctls.words, kl_words_ioctls.n, number);

	if (name)
		kl_buffer_add_string(out, name);
	else
		kl_buffer_printf(out, "_IOC(%s, %#x, %#x, %#x)", directions[_IOC_DIR(number)],
				 _IOC_TYPE(number), _IOC_NR(number), _IOC_SIZE(number));
}

/* -------------------------------------------------------------- terminals */

/* Fields of several bits, which are printed even if they are 0. */
struct field {
	uint32_t mask;
	unsigned int shift;
	const char *const *names;
};

static void put_fields(struct kl_buffer *out, const struct field *fields, size_t n, uint32_t flags)
{
	for (size_t i = 0; i < n; i++)
		kl_buffer_printf(out, "%s%s", i ? "|" : "",
				 fields[i].names[(flags & fields[i].mask) >> fields[i].shift]);
}

static void put_rest(struct kl_buffer *out, const struct kl_wordlist *list, uint32_t flags)
{
	if (!flags)
		return;
	kl_buffer_add_char(out, '|');
	kl_call_flags(out, list, flags);
}

static void put_output_flags(struct kl_buffer *out, uint32_t flags)
{
	static const char *const newlines[] = { "NL0", "NL1" };
	static const char *const returns[] = { "CR0", "CR1", "CR2", "CR3" };
	static const char *const tabs[] = { "TAB0", "TAB1", "TAB2", "TAB3" };
	static const char *const backspaces[] = { "BS0", "BS1" };
	static const char *const verticals[] = { "VT0", "VT1" };
	static const char *const forms[] = { "FF0", "FF1" };
	static const struct field fields[] = {
		{ NLDLY, 8, newlines },	   { CRDLY, 9, returns },    { TABDLY, 11, tabs },
		{ BSDLY, 13, backspaces }, { VTDLY, 14, verticals }, { FFDLY, 15, forms },
	};
	uint32_t all = 0;

	put_fields(out, fields, KL_ARRAY_SIZE(fields), flags);
	for (size_t i = 0; i < KL_ARRAY_SIZE(fields); i++)
		all |= fields[i].mask;
	put_rest(out, &kl_words_termios_o, flags & ~all);
}

static void put_control_flags(struct kl_buffer *out, uint32_t flags)
{
	static const char *const speeds[] = { "B0",    "B50",	"B75",	  "B110",  "B134",  "B150",
					      "B200",  "B300",	"B600",	  "B1200", "B1800", "B2400",
					      "B4800", "B9600", "B19200", "B38400" };
	static const char *const more[] = { "BOTHER",	"B57600",   "B115200",	"B230400",
					    "B460800",	"B500000",  "B576000",	"B921600",
					    "B1000000", "B1152000", "B1500000", "B2000000",
					    "B2500000", "B3000000", "B3500000", "B4000000" };
	static const char *const sizes[] = { "CS5", "CS6", "CS7", "CS8" };
	uint32_t speed = flags & CBAUD;

	kl_buffer_add_string(out, speed & CBAUDEX ? more[speed & 15] : speeds[speed & 15]);
	kl_buffer_printf(out, "|%s", sizes[(flags & CSIZE) >> 4]);
	put_rest(out, &kl_words_termios_c, flags & ~(uint32_t)(CBAUD | CSIZE));
}

static void print_termios(struct kl_call *c)
{
	uint32_t flags[4];

	if (!kl_call_peek(c, c->arg[2], flags, sizeof(flags)))
		return kl_call_address(c->out, c->arg[2]);
	kl_buffer_add_string(c->out, "{c_iflag=");
	kl_call_flags(c->out, &kl_words_termios_i, flags[0]);
	kl_buffer_add_string(c->out, ", c_oflag=");
	put_output_flags(c->out, flags[1]);
	kl_buffer_add_string(c->out, ", c_cflag=");
	put_control_flags(c->out, flags[2]);
	kl_buffer_add_string(c->out, ", c_lflag=");
	kl_call_flags(c->out, &kl_words_termios_l, flags[3]);
	kl_buffer_add_string(c->out, ", ...}");
}

static void print_winsize(struct kl_call *c)
{
	uint16_t size[4];

	if (!kl_call_peek(c, c->arg[2], size, sizeof(size)))
		return kl_call_address(c->out, c->arg[2]);
	kl_buffer_printf(c->out, "{ws_row=%u, ws_col=%u, ws_xpixel=%u, ws_ypixel=%u}", size[0],
			 size[1], size[2], size[3]);
}

static void print_one_of(struct kl_call *c, const char *const *names, size_t n)
{
	if (c->arg[2] < n)
		kl_buffer_add_string(c->out, names[c->arg[2]]);
	else
		kl_call_hex(c->out, c->arg[2]);
}

static void print_argument(struct kl_call *c, const struct command *command)
{
	static const char *const flushes[] = { "TCIFLUSH", "TCOFLUSH", "TCIOFLUSH" };
	static const char *const flows[] = { "TCOOFF", "TCOON", "TCIOFF", "TCION" };

	kl_comma(c);
	if (command->is_out && !kl_call_succeeded(c))
		return kl_call_address(c->out, c->arg[2]);
	switch (command->shape) {
	case SHAPE_VALUE:
		kl_buffer_add_signed(c->out, (int32_t)c->arg[2]);
		break;
	case SHAPE_HEX:
		kl_call_hex(c->out, c->arg[2]);
		break;
	case SHAPE_NUMBER:
		kl_call_numbers(c, c->arg[2], 1);
		break;
	case SHAPE_TERMIOS:
		print_termios(c);
		break;
	case SHAPE_WINSIZE:
		print_winsize(c);
		break;
	case SHAPE_FLUSH:
		print_one_of(c, flushes, KL_ARRAY_SIZE(flushes));
		break;
	case SHAPE_FLOW:
		print_one_of(c, flows, KL_ARRAY_SIZE(flows));
		break;
	default:
		kl_call_hex(c->out, c->arg[2]);
	}
}

void kl_print_ioctl(struct kl_call *c)
{
	const struct command *command = find_command((uint32_t)c->arg[1]);
	bool late = c->has_memory && command->is_out;

	if (!c->leaving) {
		kl_call_fd(c->out, c->arg[0]);
		kl_comma(c);
		print_name(c->out, c->arg[1]);
	}
	if (command->shape != SHAPE_NONE && c->leaving == late)
		print_argument(c, command);
}
