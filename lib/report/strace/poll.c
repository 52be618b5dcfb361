// SPDX-License-Identifier: GPL-2.0
/* Waiting for descriptors: poll, select, epoll. Their results say which are ready. */
#include <poll.h>
#include <sys/epoll.h>

#include "../../base/base.h"
#include "printers.h"

#define EVENTS_AT_ENTRY false
#define EVENTS_AT_EXIT true

/* Append ", " unless it is the first. */
static void separate(struct kl_buffer *out)
{
	if (out->length)
		kl_buffer_add(out, ", ", 2);
}

/* ------------------------------------------------------------------ poll */

static void print_requests(struct kl_call *c, uint64_t address, uint64_t n)
{
	struct pollfd p;

	if (!address || (n && !kl_call_peek(c, address, &p, sizeof(p))))
		return kl_call_address(c->out, address);
	kl_buffer_add_char(c->out, '[');
	for (uint64_t i = 0; i < n && !kl_array_next(c->out, i); i++) {
		if (!kl_call_peek(c, address + i * sizeof(p), &p, sizeof(p))) {
			kl_call_address(c->out, address + i * sizeof(p));
			break;
		}
		kl_buffer_printf(c->out, "{fd=%d", p.fd);
		if (p.fd >= 0) {
			kl_buffer_add_string(c->out, ", events=");
			kl_call_flags(c->out, &kl_words_poll, (uint16_t)p.events);
		}
		kl_buffer_add_char(c->out, '}');
	}
	kl_buffer_add_char(c->out, ']');
}

static void explain_ready(struct kl_call *c, uint64_t address, uint64_t n)
{
	struct pollfd p;
	uint64_t shown = 0;

	kl_buffer_add_char(&c->aux, '[');
	for (uint64_t i = 0; i < n; i++) {
		if (!kl_call_peek(c, address + i * sizeof(p), &p, sizeof(p)))
			break;
		if (p.fd < 0 || !p.revents)
			continue;
		if (kl_array_next(&c->aux, shown++))
			break;
		kl_buffer_printf(&c->aux, "{fd=%d, revents=", p.fd);
		kl_call_flags(&c->aux, &kl_words_poll, (uint16_t)p.revents);
		kl_buffer_add_char(&c->aux, '}');
	}
	kl_buffer_add_char(&c->aux, ']');
}

/* Returns whether something is ready. */
static bool explain_poll(struct kl_call *c)
{
	if (!kl_call_succeeded(c))
		return false;
	if (!c->result)
		kl_buffer_add_string(&c->aux, "Timeout");
	else if (c->has_memory)
		explain_ready(c, c->arg[0], (uint32_t)c->arg[1]);
	return c->result;
}

void kl_print_poll(struct kl_call *c)
{
	if (c->leaving) {
		explain_poll(c);
		return;
	}
	print_requests(c, c->arg[0], (uint32_t)c->arg[1]);
	kl_buffer_printf(c->out, ", %u, %d", (uint32_t)c->arg[1], (int32_t)c->arg[2]);
}

void kl_print_ppoll(struct kl_call *c)
{
	struct timespec left;

	if (c->leaving) {
		if (explain_poll(c) && kl_call_peek(c, c->arg[2], &left, sizeof(left))) {
			kl_buffer_add_string(&c->aux, ", left ");
			kl_put_timespec(&c->aux, &left);
		}
		return;
	}
	print_requests(c, c->arg[0], (uint32_t)c->arg[1]);
	kl_buffer_printf(c->out, ", %u, ", (uint32_t)c->arg[1]);
	kl_timespec_at(c, c->arg[2]);
	kl_comma(c);
	kl_sigset_at(c, c->arg[3]);
	kl_buffer_printf(c->out, ", %llu", (unsigned long long)c->arg[4]);
}

/* ---------------------------------------------------------------- select */

/* Up to 1024 descriptors, as the C library's. */
struct set {
	uint64_t word[16];
};

/* The number of words that the call reads; false: the set is not known. */
static bool get_set(const struct kl_call *c, uint64_t address, bool is_exit, struct set *set)
{
	int32_t n = c->arg[0];
	size_t bytes = n < 0 ? 0 : ((size_t)n + 63) / 64 * 8;

	*set = (struct set){};
	if (bytes > sizeof(*set))
		bytes = sizeof(*set);
	if (!address || n < 0)
		return false;
	return is_exit ? kl_call_peek(c, address, set, bytes) :
			 kl_call_peek_entry(c, address, set, bytes);
}

/* Returns the number of descriptors in the set. */
static unsigned int put_set(struct kl_buffer *out, const struct set *set, uint32_t n)
{
	unsigned int count = 0;

	kl_buffer_add_char(out, '[');
	for (uint32_t fd = 0; fd < n && fd < 64 * KL_ARRAY_SIZE(set->word); fd++)
		if (set->word[fd / 64] >> fd % 64 & 1)
			kl_buffer_printf(out, "%s%u", count++ ? " " : "", fd);
	kl_buffer_add_char(out, ']');
	return count;
}

static void print_sets(struct kl_call *c)
{
	struct set set;

	kl_buffer_add_signed(c->out, (int32_t)c->arg[0]);
	for (unsigned int i = 1; i < 4; i++) {
		kl_comma(c);
		if (get_set(c, c->arg[i], EVENTS_AT_ENTRY, &set))
			put_set(c->out, &set, c->arg[0]);
		else
			kl_call_address(c->out, c->arg[i]);
	}
	kl_comma(c);
}

static bool is_empty(const struct set *set)
{
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(set->word); i++)
		if (set->word[i])
			return false;
	return true;
}

/* Returns whether something is ready. */
static bool explain_sets(struct kl_call *c)
{
	static const char *const names[] = { "in ", "out ", "except " };
	struct set set;

	if (!kl_call_succeeded(c))
		return false;
	if (!c->result) {
		kl_buffer_add_string(&c->aux, "Timeout");
		return false;
	}
	for (unsigned int i = 1; i < 4; i++) {
		if (!get_set(c, c->arg[i], EVENTS_AT_EXIT, &set) || is_empty(&set))
			continue;
		separate(&c->aux);
		kl_buffer_add_string(&c->aux, names[i - 1]);
		put_set(&c->aux, &set, c->arg[0]);
	}
	return true;
}

void kl_print_select(struct kl_call *c)
{
	struct timeval left;

	if (!c->leaving) {
		print_sets(c);
		kl_timeval_at(c, c->arg[4]);
	} else if (explain_sets(c) && kl_call_peek(c, c->arg[4], &left, sizeof(left))) {
		separate(&c->aux);
		kl_buffer_add_string(&c->aux, "left ");
		kl_put_timeval(&c->aux, &left);
	}
}

void kl_print_pselect(struct kl_call *c)
{
	struct timespec left;
	uint64_t mask[2];

	if (c->leaving) {
		if (explain_sets(c) && kl_call_peek(c, c->arg[4], &left, sizeof(left))) {
			separate(&c->aux);
			kl_buffer_add_string(&c->aux, "left ");
			kl_put_timespec(&c->aux, &left);
		}
		return;
	}
	print_sets(c);
	kl_timespec_at(c, c->arg[4]);
	kl_comma(c);
	if (!kl_call_peek(c, c->arg[5], mask, sizeof(mask)))
		return kl_call_address(c->out, c->arg[5]);
	kl_buffer_add_string(c->out, "{sigmask=");
	kl_sigset_at(c, mask[0]);
	kl_buffer_printf(c->out, ", sigsetsize=%llu}", (unsigned long long)mask[1]);
}

/* ----------------------------------------------------------------- epoll */

static void put_epoll_event(struct kl_buffer *out, const struct epoll_event *event)
{
	kl_buffer_add_string(out, "{events=");
	kl_call_flags(out, &kl_words_epoll_events, event->events);
	kl_buffer_printf(out, ", data={u32=%u, u64=%llu}}", event->data.u32,
			 (unsigned long long)event->data.u64);
}

void kl_arg_epoll_event(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct epoll_event event;

	if (c->arg[1] == EPOLL_CTL_DEL || !kl_call_peek(c, c->arg[i], &event, sizeof(event)))
		kl_call_address(c->out, c->arg[i]);
	else
		put_epoll_event(c->out, &event);
}

void kl_arg_epoll_events(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct epoll_event event;

	if (!kl_call_succeeded(c))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_add_char(c->out, '[');
	for (int64_t k = 0; k < c->result && !kl_array_next(c->out, k); k++) {
		uint64_t at = c->arg[i] + k * sizeof(event);

		if (!kl_call_peek(c, at, &event, sizeof(event))) {
			kl_call_address(c->out, at);
			break;
		}
		put_epoll_event(c->out, &event);
	}
	kl_buffer_add_char(c->out, ']');
}
