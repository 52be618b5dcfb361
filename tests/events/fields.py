# SPDX-License-Identifier: GPL-2.0
# How a field of a record and the same field of ftrace are brought into one form. Where ftrace has
# another name or form for it, it stands here; where nothing else knows it, in UNWITNESSED.
import ipaddress

BITS = {"s8": 8, "u8": 8, "s16": 16, "u16": 16, "s32": 32, "u32": 32, "s64": 64, "u64": 64}

# Ours -> ftrace's, for any event whose ftrace record has no field of our name.
SYNONYMS = {
    "tid": "pid", "error": "errno", "handler": "sa_handler", "flags": "sa_flags",
    "prev_tid": "prev_pid", "next_tid": "next_pid", "old_tid": "old_pid", "parent_tid": "parent_pid",
    "child_tid": "child_pid", "src_tid": "src_pid", "dst_tid": "dst_pid",
}
# (event, ours) -> ftrace's. None: ftrace's field of that name is another thing.
RENAMED = {
    # A bit in ftrace's, the number in ours; its action is a pointer to a string.
    ("mm_vmscan_throttled", "reason"): None,
    ("compact_retry", "result"): None,
    ("suspend_resume", "action"): None,
    ("rcu_utilization", "s"): None,
    ("sched_process_fork", "parent_pid"): None,
    ("sched_process_fork", "child_pid"): None,
    ("sched_move_numa", "tid"): "pid",
    ("sched_move_numa", "pid"): "tgid",
    ("sched_swap_numa", "src_tid"): "src_pid",
    ("sched_swap_numa", "src_pid"): "src_tgid",
    ("sched_swap_numa", "dst_tid"): "dst_pid",
    ("sched_swap_numa", "dst_pid"): "dst_tgid",
    ("kfree_skb", "rx_skaddr"): "rx_sk",
}
LOCK_EVENTS = ("posix_lock_inode", "fcntl_setlk", "locks_remove_posix", "flock_lock_inode",
               "break_lease_noblock", "break_lease_block", "break_lease_unblock",
               "generic_add_lease", "generic_delete_lease", "time_out_leases")
for _event in LOCK_EVENTS:
    for _name in ("owner", "pid", "flags", "type"):
        RENAMED[_event, _name] = "fl_" + _name

# Read by both recorders from memory that others change meanwhile: (event, field).
SHAKY = {
    ("writeback_mark_inode_dirty", "state"), ("writeback_dirty_inode_start", "state"),
    ("writeback_dirty_inode", "state"),
    ("rss_stat", "size"), ("global_dirty_state", "nr_dirty"), ("global_dirty_state", "nr_writeback"),
    ("global_dirty_state", "nr_dirtied"), ("global_dirty_state", "nr_written"),
}
# Fields that neither ftrace nor a cause nor /proc knows: (event, field) -> reason.
_NOT_THERE = "ftrace's record has no such field"
_OTHER_FORM = "ftrace has it in another form: a class, a mask or text made of it"
UNWITNESSED = {}
for _reason, _fields in (
    (_NOT_THERE, """
        kmem_mm_page_alloc.page kmem_mm_page_free.page kmem_mm_page_free_batched.page
        kmem_mm_page_alloc_zone_locked.page kmem_mm_page_pcpu_drain.page
        kmem_mm_page_alloc_extfrag.page kmem_cache_alloc.cache kmem_cache_free.cache rss_stat.mm
        block_rq_insert.tid block_rq_issue.tid block_rq_merge.tid block_rq_requeue.tid
        block_bio_backmerge.tid block_bio_frontmerge.tid block_bio_queue.tid block_getrq.tid
        block_plug.tid block_unplug.tid block_split.tid block_bio_remap.tid
        net_dev_queue.seq netif_receive_skb.seq netif_rx.seq kfree_skb.rx_skaddr
        block_io_start.tid block_io_done.tid sock_send_length.skaddr sock_recv_length.skaddr
        consume_skb.location tcp_send_reset.reason tcp_probe.skaddr udp_fail_queue_rcv_skb.family
        mm_vmscan_lru_isolate.classzone_idx lttng_statedump_file_descriptor.fmode
        lttng_statedump_vm_map.flags compat_syscall_entry.arg5"""),
    ("what a task does changes before /proc can be asked", """
        lttng_statedump_process_state.mode lttng_statedump_process_state.status
        lttng_statedump_process_state.cpu"""),
    (_OTHER_FORM, """
        mm_vmscan_lru_isolate.file mm_vmscan_lru_shrink_inactive.file
        mm_vmscan_lru_shrink_inactive.nr_activate_anon
        mm_vmscan_lru_shrink_inactive.nr_activate_file mm_vmscan_lru_shrink_active.file
        mm_vmscan_write_folio.file mm_vmscan_throttled.reason compact_retry.result
        suspend_resume.action rcu_utilization.s"""),
):
    for _field in _fields.split():
        UNWITNESSED[tuple(_field.split("."))] = _reason

RWBS = (("W", 1), ("D", 2), ("R", 4))


def rwbs_text(bits):
    """LTTng's bits as the letters of the kernel's blk_fill_rwbs."""
    text = "F" if bits & 1 << 10 else ""
    if bits & 1 << 0:
        text += "W"
    elif bits & 1 << 1:
        text += "DE" if bits & 1 << 7 else "D"
    elif bits & 1 << 8:
        text += "F"
    elif bits & 1 << 2:
        text += "R"
    else:
        text += "N"
    for bit, letter in ((9, "F"), (3, "A"), (5, "S"), (6, "M")):
        if bits & 1 << bit:
            text += letter
    return text


def number(value):
    """A number as print --format json writes it: addresses are strings."""
    return int(value, 16) if isinstance(value, str) else value


def is_value(value, text):
    """Is a field's value what a fact says?"""
    if value is None:
        return False
    if isinstance(value, str):
        if value == text:
            return True
        try:
            return int(value, 16) == int(text, 0)
        except ValueError:
            return False
    if isinstance(value, list):
        return [int(part, 0) for part in text.split(",")] == value
    return value == int(text, 0)


class Pair:
    """One field on both sides."""

    def __init__(self, field, other, shaky):
        self.name, self.field, self.other, self.shaky = field.name, field, other, shaky
        self.mask = 0
        if field.kind in BITS:
            self.mask = (1 << min(BITS[field.kind], other.size * 8)) - 1

    def ours(self, values):
        value = values[self.name]
        if self.field.kind in ("str", "comm"):
            if self.other.text:
                return value
            return value
        if self.field.format == "rwbs":
            return rwbs_text(value)
        if self.field.format == "ipv6":
            return ipaddress.ip_address(value).packed.hex()
        if isinstance(value, list):
            return tuple(value)
        if self.field.format == "prio":  # as LTTng's: 20 for nice 0
            value += 100
        return number(value) & self.mask

    def theirs(self, data):
        value = self.other.value(data)
        if isinstance(value, bytes):
            if self.other.text:
                return value.decode("utf-8", "replace")
            if self.field.format == "ipv6":
                return value.hex()
            if self.field.count > 1:
                step = len(value) // self.field.count
                return tuple(int.from_bytes(value[at:at + step], "little", signed=True)
                             for at in range(0, len(value), step))
            if len(value) == 28:  # a struct sockaddr_in6 that holds an IPv4 address
                return int.from_bytes(value[4:8], "little") & self.mask
            return int.from_bytes(value[:8], "little") & self.mask
        return value & self.mask


def pairs(row, fmt):
    """The fields that both have."""
    found = []
    for field in row.fields:
        name = RENAMED.get((row.name, field.name), field.name)
        if name is None:
            continue
        other = (fmt.fields.get(name) or fmt.fields.get(SYNONYMS.get(name))
                 or fmt.fields.get(field.name))
        if other:
            found.append(Pair(field, other, (row.name, field.name) in SHAKY))
    return found
