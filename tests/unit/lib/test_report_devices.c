// SPDX-License-Identifier: GPL-2.0
/* Reports of disks, interrupts, memory and the network, from events made here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "unit.h"

/* ------------------------------------------------------------------------ io */

static int take_io(void *report, const struct kl_item *item)
{
	return kl_io_report_add(report, item);
}

static struct kl_io_report *new_io(int32_t pid)
{
	struct kl_io_report *report = kl_io_report_create(feed_schema, pid);

	if (!report)
		abort();
	feed_to = report;
	feed_take = take_io;
	return report;
}

enum {
	READ = 4,
	WRITE = 1,
	FLUSH = 0x100,
	DISK = 8 << 20,
};

static void request(const char *what, uint64_t us, int pid, uint64_t sector, uint64_t sectors,
		    uint64_t rwbs)
{
	const struct kl_task task = { .tid = pid, .pid = pid, .comm = "asks" };

	feed_event_of(what, 1, BEGIN + us * US, &task, "asks",
		      NUMBERS(DISK, sector, sectors, sectors * 512, (uint64_t)pid, rwbs));
}

static void completed(uint64_t us, uint64_t sector, uint64_t sectors, int error)
{
	feed_event_of("block_rq_complete", 0, BEGIN + us * US, &(struct kl_task){ .tid = 0 }, "",
		      NUMBERS(DISK, sector, sectors, (uint64_t)error, 0));
}

static void test_io(void)
{
	struct kl_io_report *report = new_io(0);
	const struct kl_io_totals *totals;
	const struct kl_io_row *row;
	size_t n;

	request("block_rq_insert", 0, 5, 100, 8, READ);
	request("block_rq_issue", 50, 9, 100, 8, READ); /* by a worker */
	request("block_rq_issue", 60, 6, 200, 16, WRITE);
	completed(80, 200, 4, 0); /* a part */
	completed(150, 100, 8, 0);
	completed(160, 204, 12, -5); /* the rest fails */
	request("block_rq_issue", 200, 6, UINT64_MAX, 0, FLUSH);
	completed(300, 0, 0, 0);
	completed(310, UINT64_MAX, 0, 0); /* of the write that wanted the flush */
	completed(320, 777, 8, 0); /* issued before the trace */
	request("block_rq_issue", 330, 6, 400, 8, READ);
	request("block_rq_requeue", 340, 6, 400, 8, READ);
	request("block_rq_issue", 350, 6, 400, 8, READ);
	request("block_rq_issue", 360, 6, 500, 8, READ); /* and does not complete */
	completed(400, 400, 8, 0);
	row = kl_io_report_devices(report, &n);
	unit_check(n == 3 && row[0].op == KL_IO_READ && row[0].dev == DISK &&
			   row[0].latency.n == 2 && row[0].latency.sum == 150 * US &&
			   row[0].bytes == 8192 && row[0].most == 2 && !row[0].errors,
		   "reads of a device");
	unit_check(n == 3 && row[0].queue.n == 1 && row[0].queue.sum == 50 * US,
		   "and how long they were queued");
	unit_check(n == 3 && row[1].op == KL_IO_WRITE && row[1].latency.n == 1 &&
			   row[1].latency.sum == 100 * US && row[1].errors == 1 &&
			   row[1].sizes.most == 8192,
		   "a write that completes in parts lasts until the last");
	unit_check(n == 3 && row[2].op == KL_IO_FLUSH && row[2].latency.sum == 100 * US &&
			   !row[2].sizes.n,
		   "a flush has no sector");
	row = kl_io_report_processes(report, &n);
	unit_check(n == 2 && row[0].task.pid == 6 && row[0].latency.n == 3 &&
			   row[1].task.pid == 5 && row[1].latency.sum == 100 * US,
		   "a request belongs to the process that queued it");
	totals = kl_io_report_totals(report);
	unit_check(totals->unfinished == 1 && totals->unpaired == 1 && totals->requeued == 1 &&
			   totals->latency.n == 4 && totals->sizes.n == 3,
		   "what has no end or no begin is counted");
	unit_check(totals->worst.n == 4 && totals->worst.one[0].ns == 100 * US &&
			   totals->worst.one[0].task.pid == 5 &&
			   totals->worst.one[0].detail[1] == 100 && !totals->worst.one[0].cpu,
		   "the longest, with its place");
	kl_io_report_destroy(report);
}

static void test_io_damage(void)
{
	struct kl_io_report *report = new_io(0);
	const struct kl_io_totals *totals;
	size_t n;

	request("block_rq_issue", 100, 5, 8, 8, READ);
	completed(50, 8, 8, 0); /* the clocks differ */
	request("block_rq_issue", 200, 5, 8, 8, READ);
	request("block_rq_issue", 300, 5, 8, 8, READ); /* at the same place */
	feed_loss(KL_LOSS_UNSEEN, 0);
	completed(310, 8, 8, 0);
	request("block_rq_issue", 400, 5, 8, 8, READ);
	feed_loss(KL_LOSS_OVERWRITTEN, 0);
	completed(900, 8, 8, 0);
	request("block_rq_issue", 1000, 5, UINT64_MAX - 4, UINT32_MAX, READ);
	completed(1010, UINT64_MAX - 4, 8, 0); /* beyond the last sector */
	completed(1020, 3, UINT32_MAX, 0);
	totals = kl_io_report_totals(report);
	unit_check(totals->latency.n == 3 && totals->latency.least == 0 &&
			   totals->latency.most == 20 * US,
		   "no time is negative, and none crosses a gap");
	unit_check(totals->gaps == 1 && totals->unfinished == 1 && totals->unpaired == 1,
		   "what is missing is counted");
	kl_io_report_destroy(report);
	report = new_io(6);
	request("block_rq_issue", 0, 5, 8, 8, READ);
	request("block_rq_issue", 0, 6, 16, 8, READ);
	completed(10, 8, 8, 0);
	completed(20, 16, 8, 0);
	kl_io_report_processes(report, &n);
	unit_check(n == 1 && kl_io_report_totals(report)->latency.sum == 20 * US, "one process");
	kl_io_report_destroy(report);
}

static void test_io_bound(void)
{
	struct kl_io_report *report = new_io(0);
	const uint64_t most = 65536;

	for (uint64_t i = 0; i < most; i++)
		request("block_rq_insert", i, 5, i * 8, 8, READ);
	request("block_rq_issue", most, 5, 8 * most, 8, READ);
	completed(most + 1, 8 * most, 8, 0);
	unit_check(kl_io_report_totals(report)->latency.n == 1 &&
			   !kl_io_report_totals(report)->dropped,
		   "requests that are never issued are forgotten when there are too many");
	for (uint64_t i = 0; i < most + 7; i++)
		request("block_rq_issue", 2 * most + i, 5, i * 8, 8, READ);
	unit_check(kl_io_report_totals(report)->dropped == 7, "a full table is reported");
	kl_io_report_destroy(report);
}

/* ----------------------------------------------------------------------- irq */

static int take_irq(void *report, const struct kl_item *item)
{
	return kl_irq_report_add(report, item);
}

static const struct kl_irq_row *irq_of(struct kl_irq_report *report, enum kl_irq_kind kind,
				       int number)
{
	size_t n;
	const struct kl_irq_row *row = kl_irq_report_rows(report, &n);

	for (size_t i = 0; i < n; i++)
		if (row[i].kind == kind && row[i].number == number)
			return &row[i];
	return NULL;
}

static void interrupt(const char *event, unsigned int cpu, uint64_t us, uint64_t number,
		      uint64_t ret)
{
	feed_event(event, cpu, BEGIN + us * US, NUMBERS(number, ret));
}

static void test_irq(void)
{
	struct kl_irq_report *report = kl_irq_report_create(feed_schema, 0);
	const struct kl_irq_totals *totals;
	const struct kl_irq_row *row;
	const struct kl_irq_cpu *cpu;
	size_t n;

	if (!report)
		abort();
	feed_to = report;
	feed_take = take_irq;
	interrupt("irq_softirq_raise", 1, 0, 3, 0);
	interrupt("irq_softirq_raise", 1, 5, 3, 0); /* it is already */
	interrupt("irq_softirq_entry", 1, 20, 3, 0);
	interrupt("x86_irq_vectors_local_timer_entry", 1, 30, 236, 0);
	interrupt("irq_handler_entry", 1, 40, 9, 0);
	interrupt("irq_handler_entry", 0, 41, 9, 0); /* on another CPU */
	interrupt("irq_handler_exit", 1, 45, 9, 1);
	interrupt("x86_irq_vectors_local_timer_exit", 1, 60, 236, 0);
	interrupt("irq_handler_exit", 0, 91, 9, 0);
	interrupt("irq_softirq_exit", 1, 100, 3, 0);
	interrupt("irq_handler_exit", 0, 110, 9, 0); /* without a begin */
	interrupt("irq_softirq_entry", 0, 120, 1, 0);
	interrupt("irq_softirq_exit", 0, 130, 2, 0); /* another one's */
	interrupt("irq_handler_entry", 0, 140, 9, 0);
	interrupt("irq_handler_entry", 0, 150, 9, 0); /* the end is missing */
	interrupt("irq_handler_exit", 0, 145, 9, 1); /* the clock goes back */
	interrupt("irq_softirq_entry", 0, 160, 200, 0);
	row = irq_of(report, KL_IRQ_DEVICE, 9);
	unit_check(row && row->time.n == 3 && row->time.sum == 55 * US && row->handled == 2 &&
			   !strcmp(row->name, "text") && row->worst.ns == 50 * US &&
			   !row->worst.cpu && row->worst.end_ns == BEGIN + 91 * US,
		   "handlers of a device");
	row = irq_of(report, KL_IRQ_VECTOR, 0);
	unit_check(row && row->time.sum == 30 * US && !strcmp(row->name, "local_timer"),
		   "a vector, with what comes within");
	row = irq_of(report, KL_IRQ_SOFTIRQ, 3);
	unit_check(row && row->time.sum == 80 * US && row->delay.n == 1 &&
			   row->delay.sum == 20 * US && !strcmp(row->name, "NET_RX"),
		   "a softirq, and since when it was raised");
	totals = kl_irq_report_totals(report);
	unit_check(totals->unpaired == 2 && totals->unfinished == 3 && totals->time[0].n == 4 &&
			   totals->time[1].n == 1 && totals->worst.one[0].ns == 80 * US &&
			   totals->worst.one[0].task.tid == 7,
		   "ends without begins, begins without ends, and what was interrupted");
	cpu = kl_irq_report_cpus(report, &n);
	unit_check(n == 2 && !cpu[0].cpu && cpu[0].n[KL_IRQ_DEVICE] == 2 &&
			   cpu[1].ns[KL_IRQ_SOFTIRQ] == 80 * US,
		   "by CPU");
	kl_irq_report_destroy(report);
}

static void test_irq_damage(void)
{
	struct kl_irq_report *report = kl_irq_report_create(feed_schema, 0);
	const struct kl_irq_totals *totals;
	size_t n;

	if (!report)
		abort();
	feed_to = report;
	interrupt("irq_handler_entry", 0, 10, 1, 0);
	interrupt("irq_handler_entry", 1, 10, 1, 0);
	feed_loss(KL_LOSS_DISCARDED, 0);
	interrupt("irq_handler_exit", 0, 90, 1, 0);
	interrupt("irq_handler_exit", 1, 20, 1, 0);
	totals = kl_irq_report_totals(report);
	unit_check(totals->time[0].n == 1 && totals->time[0].sum == 10 * US &&
			   totals->unpaired == 1 && totals->gaps == 1,
		   "a gap is one of its CPU");
	for (uint64_t i = 0; i < KL_IRQ_ROWS_MAX + 50; i++) {
		interrupt("irq_handler_entry", 0, 100, i, 0);
		interrupt("irq_handler_exit", 0, 101, i, 0);
		interrupt("irq_softirq_entry", (unsigned int)(i * 64), 102, 1, 0);
	}
	totals = kl_irq_report_totals(report);
	kl_irq_report_rows(report, &n);
	/* The first handler has a row already, and one is the softirq's. */
	unit_check(n == KL_IRQ_ROWS_MAX && totals->dropped == 51 - 1 + 1,
		   "full tables are reported");
	kl_irq_report_destroy(report);
}

/* ------------------------------------------------------------------------ mm */

static int take_mm(void *report, const struct kl_item *item)
{
	return kl_mm_report_add(report, item);
}

static void work(const char *event, uint64_t us, int tid, uint64_t number)
{
	const struct kl_task task = { .tid = tid, .pid = tid & ~1, .comm = "works" };

	feed_event_of(event, 0, BEGIN + us * US, &task, "killed", NUMBERS(number, 0, 0));
}

static void test_mm(void)
{
	struct kl_mm_report *report = kl_mm_report_create(feed_schema, 0);
	struct kl_buffer names = { 0 };
	const struct kl_mm_totals *totals;
	const struct kl_mm_row *row;
	size_t n;

	if (!report)
		abort();
	feed_to = report;
	feed_take = take_mm;
	kl_mm_report_missing(report, &names);
	unit_check(names.length > 0, "events are missing");
	kl_buffer_deinit(&names);
	feed_event_of("x86_exceptions_page_fault_user", 0, BEGIN,
		      &(struct kl_task){ .tid = 5, .pid = 4, .comm = "x" }, "",
		      NUMBERS(0x1000, 0x2000, 7));
	feed_event_of("x86_exceptions_page_fault_kernel", 0, BEGIN,
		      &(struct kl_task){ .tid = 4, .pid = 4, .comm = "x" }, "",
		      NUMBERS(0x1000, 0x2000, 2));
	work("mm_vmscan_direct_reclaim_begin", 10, 4, 0);
	work("mm_vmscan_direct_reclaim_begin", 20, 8, 0);
	work("mm_compaction_begin", 25, 8, 0);
	work("mm_compaction_end", 26, 8, 0);
	work("mm_vmscan_direct_reclaim_end", 50, 4, 32);
	work("mm_vmscan_direct_reclaim_end", 90, 8, 8);
	work("mm_vmscan_memcg_reclaim_end", 95, 8, 8); /* without a begin */
	work("mm_vmscan_memcg_reclaim_begin", 96, 8, 8);
	work("mm_vmscan_kswapd_wake", 100, 60, 0);
	work("mm_vmscan_kswapd_wake", 110, 60, 0); /* it is awake */
	work("mm_vmscan_kswapd_sleep", 400, 60, 0);
	work("mm_vmscan_kswapd_sleep", 500, 60, 0);
	work("mark_victim", 600, 8, 77);
	row = kl_mm_report_rows(report, &n);
	unit_check(n == 3 && row[0].task.pid == 4 && row[0].user == 1 && row[0].kernel == 1 &&
			   row[0].protection == 1 && row[0].write == 2 && !row[0].counted,
		   "faults of the tasks of a process");
	unit_check(n == 3 && row[0].n[KL_MM_DIRECT] == 1 && row[0].pages[KL_MM_DIRECT] == 32 &&
			   row[0].ns[KL_MM_DIRECT] == 40 * US &&
			   row[1].ns[KL_MM_DIRECT] == 70 * US &&
			   row[1].ns[KL_MM_COMPACTION] == 1 * US,
		   "reclaim and compaction");
	totals = kl_mm_report_totals(report);
	unit_check(totals->time[KL_MM_DIRECT].n == 2 && totals->pages[KL_MM_DIRECT] == 40 &&
			   totals->worst.n == 3 && totals->worst.one[0].task.tid == 8,
		   "all of it, the longest first");
	unit_check(totals->time[KL_MM_KSWAPD].n == 1 && totals->time[KL_MM_KSWAPD].sum == 300 * US,
		   "kswapd is awake until it first sleeps");
	unit_check(totals->unpaired == 1 && totals->unfinished == 1, "what is missing is counted");
	unit_check(totals->victims == 1 && totals->victim[0].task.tid == 77 &&
			   totals->victim[0].by.tid == 8 &&
			   !strcmp(totals->victim[0].task.comm, "killed"),
		   "who was killed");
	kl_mm_report_destroy(report);
}

static void test_mm_damage(void)
{
	struct kl_mm_report *report = kl_mm_report_create(feed_schema, 0);
	const struct kl_mm_totals *totals;
	size_t n;

	if (!report)
		abort();
	feed_to = report;
	work("mm_vmscan_direct_reclaim_begin", 10, 4, 0);
	feed_loss(KL_LOSS_CORRUPT, 0);
	work("mm_vmscan_direct_reclaim_end", 500, 4, 1);
	work("mm_vmscan_direct_reclaim_begin", 600, 4, 0);
	work("mm_vmscan_direct_reclaim_end", 550, 4, UINT64_MAX);
	for (int tid = 10; tid < 10 + KL_MM_TASKS_MAX; tid++)
		work("mm_compaction_begin", 700, tid, 0);
	for (int i = 0; i < 100; i++)
		work("mark_victim", 800, 4, (uint64_t)i);
	kl_mm_report_rows(report, &n);
	totals = kl_mm_report_totals(report);
	unit_check(totals->time[KL_MM_DIRECT].n == 1 && !totals->time[KL_MM_DIRECT].sum &&
			   totals->gaps == 1 && totals->unpaired == 1,
		   "nothing crosses a gap, or is negative");
	unit_check(n <= KL_MM_TASKS_MAX && totals->dropped == 1 && totals->victims == 100,
		   "full tables are reported");
	kl_mm_report_destroy(report);
}

/* ----------------------------------------------------------------------- net */

static int take_net(void *report, const struct kl_item *item)
{
	return kl_net_report_add(report, item);
}

static struct kl_net_report *new_net(void)
{
	struct kl_net_report *report = kl_net_report_create(feed_schema, 0);

	if (!report)
		abort();
	feed_to = report;
	feed_take = take_net;
	return report;
}

enum {
	ESTABLISHED = 1,
	SYN_SENT,
	SYN_RECV,
	FIN_WAIT,
	CLOSE = 7,
	CLOSE_WAIT,
	LAST_ACK,
	LISTEN,
};

static void state(uint64_t us, int tid, uint64_t socket, uint64_t old, uint64_t new)
{
	const struct kl_task task = { .tid = tid, .pid = tid, .comm = "talks" };

	feed_event_of("inet_sock_set_state", 0, BEGIN + us * US, &task, "",
		      NUMBERS(socket, old, new, 6, 2, 1000, 80, 0x0100007f, 0x0200007f));
}

static void packet(const char *event, uint64_t us, uint64_t address, uint64_t second)
{
	feed_event_of(event, 0, BEGIN + us * US, &(struct kl_task){ .tid = 0 }, "eth0",
		      NUMBERS(address, second, 1500));
}

static void test_connections(void)
{
	struct kl_net_report *report = new_net();
	const struct kl_net_connection *is;
	const struct kl_net_totals *totals;
	size_t n;

	state(0, 5, 0x10, CLOSE, LISTEN);
	state(10, 6, 0x20, CLOSE, SYN_SENT);
	state(60, 0, 0x20, SYN_SENT, ESTABLISHED);
	state(61, 0, 0x30, SYN_RECV, ESTABLISHED);
	feed_event("sock_send_length", 0, BEGIN + 70 * US, NUMBERS(0x30, 2, 6, 500));
	feed_event("sock_send_length", 0, BEGIN + 70 * US, NUMBERS(0x30, 2, 6, (uint64_t)-32));
	feed_event("tcp_retransmit_skb", 0, BEGIN + 80 * US, NUMBERS(1, 0x20));
	feed_event("tcp_retransmit_skb", 0, BEGIN + 80 * US, NUMBERS(1, 0x99)); /* unknown */
	state(90, 6, 0x20, ESTABLISHED, FIN_WAIT);
	state(110, 0, 0x20, FIN_WAIT, CLOSE);
	state(120, 8, 0x40, ESTABLISHED, CLOSE_WAIT); /* older than the trace */
	state(130, 8, 0x40, LAST_ACK, CLOSE);
	state(140, 5, 0x10, LISTEN, CLOSE);
	kl_net_report_finish(report);
	is = kl_net_report_connections(report, &n);
	unit_check(n == 3 && is[0].active && is[0].task.tid == 6 &&
			   is[0].begin_ns == BEGIN + 10 * US &&
			   is[0].established_ns == BEGIN + 60 * US &&
			   is[0].end_ns == BEGIN + 110 * US && is[0].retransmits == 1 &&
			   is[0].local.port == 1000 && is[0].remote.port == 80 &&
			   is[0].local.address[0] == 127 && is[0].remote.address[3] == 2,
		   "a connection that was opened");
	unit_check(n == 3 && !is[1].begin_ns && is[1].end_ns, "one that is older than the trace");
	unit_check(n == 3 && !is[2].active && is[2].begin_ns && !is[2].end_ns &&
			   is[2].sent == 500 && is[2].task.tid == 7,
		   "one that was accepted, and is open");
	totals = kl_net_report_totals(report);
	unit_check(totals->connections == 3 && totals->connect.n == 1 &&
			   totals->connect.sum == 50 * US && totals->lifetime.sum == 100 * US &&
			   totals->retransmits == 2,
		   "times and counts of all");
	kl_net_report_destroy(report);
}

static void test_packets(void)
{
	struct kl_net_report *report = new_net();
	const struct kl_net_totals *totals;
	const struct kl_net_device *device;
	const struct kl_net_drop *drop;
	size_t n;

	packet("net_dev_queue", 0, 0x100, 1000);
	packet("net_dev_xmit", 30, 0x100, 0);
	packet("net_dev_queue", 40, 0x100, 1000);
	packet("net_dev_xmit", 50, 0x100, 16); /* refused */
	packet("netif_rx", 60, 0x100, 900);
	packet("netif_receive_skb", 65, 0x100, 900);
	packet("netif_receive_skb", 66, 0x100, 900); /* not through the backlog */
	feed_event("kfree_skb", 0, BEGIN, NUMBERS(1, 0x5000, 8, 2));
	feed_event("kfree_skb", 0, BEGIN + 1, NUMBERS(1, 0x6000, 8, 2));
	feed_event("kfree_skb", 0, BEGIN + 2, NUMBERS(1, 0x6000, 8, 2));
	device = kl_net_report_devices(report, &n);
	unit_check(n == 1 && !strcmp(device->name, "eth0") && device->sent == 1 &&
			   device->sent_bytes == 1500 && device->refused == 1 &&
			   device->queue.n == 1 && device->queue.sum == 30 * US,
		   "packets that are sent");
	unit_check(n == 1 && device->received == 2 && device->received_bytes == 1800 &&
			   device->backlog.n == 1 && device->backlog.sum == 5 * US,
		   "and received");
	drop = kl_net_report_drops(report, &n);
	unit_check(n == 2 && drop[0].location == 0x6000 && drop[0].n == 2 && drop[0].reason == 2,
		   "and dropped");
	packet("net_dev_queue", 70, 0x100, 1000);
	feed_loss(KL_LOSS_DISCARDED, 0);
	packet("net_dev_xmit", 900, 0x100, 0);
	state(1000, 6, 0x20, CLOSE, SYN_SENT);
	feed_loss(KL_LOSS_DISCARDED, 0);
	for (uint64_t i = 0; i < KL_NET_CONNECTIONS_MAX + 5; i++)
		state(1100 + i, 6, 0x1000 + i, CLOSE, SYN_SENT);
	for (uint64_t i = 0; i < 70000; i++)
		packet("net_dev_queue", 1100, i * 64, 1);
	for (uint64_t i = 0; i < 300; i++)
		feed_event("kfree_skb", 0, BEGIN, NUMBERS(1, 0x7000 + i, 8, 2));
	state(2000, 6, 0x1000, SYN_SENT, CLOSE);
	kl_net_report_finish(report);
	totals = kl_net_report_totals(report);
	kl_net_report_connections(report, &n);
	device = kl_net_report_devices(report, &(size_t){ 0 });
	unit_check(device->queue.n == 1 && totals->gaps == 2 && n == KL_NET_CONNECTIONS_MAX,
		   "nothing crosses a gap");
	unit_check(totals->dropped == 5 + 300 - (KL_NET_DROPS_MAX - 2), "full tables are reported");
	kl_net_report_destroy(report);
}

int main(void)
{
	feed_schema = kl_schema_create();
	if (!feed_schema)
		abort();
	test_io();
	test_io_damage();
	test_io_bound();
	test_irq();
	test_irq_damage();
	test_mm();
	test_mm_damage();
	test_connections();
	test_packets();
	kl_schema_destroy(feed_schema);
	return unit_end();
}
