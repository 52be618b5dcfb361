// SPDX-License-Identifier: GPL-2.0
/* List open files and sockets of a process, as lsof(8) and ss(8) do. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/common.h"
#include "../base/output.h"
#include "detail.h"

static const char *access_of(const struct kl_abi_detail_file *f)
{
	bool reads = f->flags & KL_DETAIL_FILE_READ, writes = f->flags & KL_DETAIL_FILE_WRITE;

	return reads && writes ? "rw" : reads ? "r" : writes ? "w" : "-";
}

static bool has_size(uint32_t kind)
{
	return kind == KL_DETAIL_FILE_REGULAR || kind == KL_DETAIL_FILE_MEMFD ||
	       kind == KL_DETAIL_FILE_PIPE || kind == KL_DETAIL_FILE_FIFO ||
	       kind == KL_DETAIL_FILE_DIRECTORY;
}

/* Append what the file reports about itself (fdinfo) to its name. */
static void add_info(struct kl_buffer *text, const struct kl_detail *e)
{
	const char *separator = "  ";

	for (const char *at = e->more; *at;) {
		size_t n = strcspn(at, "\n");

		kl_buffer_add_string(text, separator);
		for (size_t i = 0; i < n; i++)
			if (at[i] != '\t' && (at[i] != ' ' || i + 1 < n))
				kl_buffer_add_char(text, at[i]);
			else
				kl_buffer_add_char(text, ' ');
		separator = ", ";
		at += n + (at[n] == '\n');
	}
}

static void add_name(struct cli_table *table, const struct kl_detail *e)
{
	struct kl_buffer text = {};

	kl_buffer_add_string(&text, cli_clean_text(e->text, e->text_bytes));
	add_info(&text, e);
	if (e->is_cut)
		kl_buffer_add_string(&text, " ...");
	cli_table_add(table, "%s", text.data ? text.data : "");
	kl_buffer_deinit(&text);
}

void cli_proc_print_files(const struct kl_details *list)
{
	struct cli_table *table =
		cli_table_create(">fd|kind|access|device|>inode|>size|>position|name");

	for (size_t i = 0; i < list->n; i++) {
		const struct kl_abi_detail_file *f = &list->entry[i].file;

		cli_table_add(table, "%d", f->fd);
		cli_table_add(table, "%s", kl_detail_file_name(f->kind));
		cli_table_add(table, "%s%s%s", access_of(f),
			      f->flags & KL_DETAIL_FILE_CLOEXEC ? " cloexec" : "",
			      f->flags & KL_DETAIL_FILE_LOCKED ? " locked" : "");
		if (f->kind == KL_DETAIL_FILE_CHARACTER || f->kind == KL_DETAIL_FILE_BLOCK)
			cli_table_add(table, "%u,%u", f->rdev_major, f->rdev_minor);
		else
			cli_table_add(table, "%u,%u", f->dev_major, f->dev_minor);
		cli_table_add(table, "%llu", (unsigned long long)f->inode);
		if (has_size(f->kind))
			cli_table_add(table, "%llu", (unsigned long long)f->file_bytes);
		else
			cli_table_add(table, "-");
		cli_table_add(table, "%llu", (unsigned long long)f->position);
		add_name(table, &list->entry[i]);
	}
	cli_table_print(table, stdout, 2);
}

json_t *cli_proc_file_json(const struct kl_detail *e)
{
	const struct kl_abi_detail_file *f = &e->file;
	json_t *to =
		json_pack("{s:i, s:s, s:o, s:s, s:b, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			  "fd", f->fd, "kind", kl_detail_file_name(f->kind), "name",
			  cli_json_text(e->text), "access", access_of(f), "cloexec",
			  !!(f->flags & KL_DETAIL_FILE_CLOEXEC), "deleted",
			  !!(f->flags & KL_DETAIL_FILE_DELETED), "locked",
			  !!(f->flags & KL_DETAIL_FILE_LOCKED), "open_flags",
			  (json_int_t)f->open_flags, "mode", (json_int_t)f->mode, "links",
			  (json_int_t)f->links, "inode", (json_int_t)f->inode, "bytes",
			  (json_int_t)f->file_bytes, "position", (json_int_t)f->position, "events",
			  (json_int_t)f->events);
	const bool is_device = f->kind == KL_DETAIL_FILE_CHARACTER ||
			       f->kind == KL_DETAIL_FILE_BLOCK;

	json_object_set_new(to, "device", json_sprintf("%u:%u", f->dev_major, f->dev_minor));
	if (is_device)
		json_object_set_new(to, "special",
				    json_sprintf("%u:%u", f->rdev_major, f->rdev_minor));
	if (e->more_bytes)
		json_object_set_new(to, "info", cli_json_text(e->more));
	return to;
}

/* ------------------------------------------------------------------- sockets */

static void add_address(struct cli_table *table, const uint8_t *address, uint32_t bytes)
{
	struct kl_buffer text = {};

	kl_detail_add_address(&text, address, bytes);
	cli_table_add(table, "%s", text.data ? text.data : "");
	kl_buffer_deinit(&text);
}

static json_t *address_json(const uint8_t *address, uint32_t bytes)
{
	struct kl_buffer text = {};
	json_t *to;

	if (!bytes)
		return json_null();
	kl_detail_add_address(&text, address, bytes);
	to = cli_json_text(text.data ? text.data : "");
	kl_buffer_deinit(&text);
	return to;
}

static void add_family(struct cli_table *table, const struct kl_abi_detail_socket *s)
{
	const char *family = kl_detail_family_name(s->family);

	if (family)
		cli_table_add(table, "%s %s", family, kl_detail_protocol_name(s));
	else
		cli_table_add(table, "%u %s", s->family, kl_detail_protocol_name(s));
}

void cli_proc_print_sockets(const struct kl_details *list)
{
	struct cli_table *table =
		cli_table_create(">fd|kind|state|>recv-q|>send-q|local|peer|>inode|more");

	for (size_t i = 0; i < list->n; i++) {
		const struct kl_abi_detail_socket *s = &list->entry[i].socket;
		char rtt[CLI_NUMBER_MAX];

		cli_table_add(table, "%d", s->fd);
		add_family(table, s);
		cli_table_add(table, "%s", kl_detail_socket_state_name(s));
		cli_table_add(table, "%llu", (unsigned long long)s->recv_queue);
		cli_table_add(table, "%llu", (unsigned long long)s->send_queue);
		add_address(table, s->local, s->local_bytes);
		add_address(table, s->remote, s->remote_bytes);
		cli_table_add(table, "%llu", (unsigned long long)s->inode);
		if (s->peer_inode)
			cli_table_add(table, "peer inode %llu", (unsigned long long)s->peer_inode);
		else if (s->flags & KL_DETAIL_SOCKET_NUMBERS)
			cli_table_add(table, "rtt %s, window %u, %u retransmitted",
				      cli_print_time(rtt, s->rtt_us * 1000ull),
				      s->congestion_window, s->retransmits);
		else
			cli_table_add(table, "%s", "");
	}
	cli_table_print(table, stdout, 2);
}

json_t *cli_proc_socket_json(const struct kl_detail *e)
{
	const struct kl_abi_detail_socket *s = &e->socket;
	const char *family = kl_detail_family_name(s->family);
	json_t *to = json_pack("{s:i, s:o, s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:I, s:I, s:I, s:I,"
			       " s:I, s:I}",
			       "fd", s->fd, "family",
			       family ? json_string(family) : json_integer(s->family), "protocol",
			       kl_detail_protocol_name(s), "state", kl_detail_socket_state_name(s),
			       "recv_queue", (json_int_t)s->recv_queue, "send_queue",
			       (json_int_t)s->send_queue, "inode", (json_int_t)s->inode, "local",
			       address_json(s->local, s->local_bytes), "remote",
			       address_json(s->remote, s->remote_bytes), "peer_inode",
			       (json_int_t)s->peer_inode, "recv_room", (json_int_t)s->recv_room,
			       "send_room", (json_int_t)s->send_room, "drops", (json_int_t)s->drops,
			       "net_namespace", (json_int_t)s->net_namespace, "uid",
			       (json_int_t)s->uid);

	if (s->flags & KL_DETAIL_SOCKET_NUMBERS)
		json_object_set_new(to, "tcp",
				    json_pack("{s:I, s:I, s:I, s:I, s:I}", "bytes_sent",
					      (json_int_t)s->bytes_sent, "bytes_received",
					      (json_int_t)s->bytes_received, "retransmits",
					      (json_int_t)s->retransmits, "rtt_us",
					      (json_int_t)s->rtt_us, "congestion_window",
					      (json_int_t)s->congestion_window));
	return to;
}
