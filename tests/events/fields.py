# SPDX-License-Identifier: GPL-2.0
# Converts a field of a record and the same field of ftrace to one form. Fields for which ftrace has
# another name or form are listed here; those that no other source knows are in UNWITNESSED.
import ipaddress

BITS = {"s8": 8, "u8": 8, "s16": 16, "u16": 16, "s32": 32, "u32": 32, "s64": 64, "u64": 64}

# kernlens' name -> ftrace's, for any event whose ftrace record has no field of kernlens' name.
SYNONYMS = {
    "tid": "pid", "error": "errno", "handler": "sa_handler", "flags": "sa_flags",
    "prev_tid": "prev_pid", "next_tid": "next_pid", "old_tid": "old_pid", "parent_tid": "parent_pid",
    "child_tid": "child_pid", "src_tid": "src_pid", "dst_tid": "dst_pid",
}
# (event, kernlens' name) -> ftrace's. None: ftrace's field of that name is something else.
RENAMED = {
    ("compact_retry", "result"): None,
    ("mm_vmscan_lru_isolate", "classzone_idx"): "highest_zoneidx",
    ("mm_vmscan_lru_shrink_inactive", "nr_activate_anon"): "nr_activate0",
    ("mm_vmscan_lru_shrink_inactive", "nr_activate_file"): "nr_activate1",
    ("mm_vmscan_lru_shrink_inactive", "file"): "reclaim_flags",
    ("mm_vmscan_lru_shrink_active", "file"): "reclaim_flags",
    ("mm_vmscan_write_folio", "file"): "reclaim_flags",
    ("sched_process_fork", "parent_pid"): None,
    ("sched_process_fork", "child_pid"): None,
    ("sched_move_numa", "tid"): "pid",
    ("sched_move_numa", "pid"): "tgid",
    ("sched_swap_numa", "src_tid"): "src_pid",
    ("sched_swap_numa", "src_pid"): "src_tgid",
    ("sched_swap_numa", "dst_tid"): "dst_pid",
    ("sched_swap_numa", "dst_pid"): "dst_tgid",
    ("kfree_skb", "rx_skaddr"): "rx_sk",
    # In 7.3.
    ("balance_dirty_pages", "bdi_dirty"): "wb_dirty",
}
LOCK_EVENTS = ("posix_lock_inode", "fcntl_setlk", "locks_remove_posix", "flock_lock_inode",
               "break_lease_noblock", "break_lease_block", "break_lease_unblock",
               "generic_add_lease", "generic_delete_lease", "time_out_leases")
for _event in LOCK_EVENTS:
    for _name in ("owner", "pid", "flags", "type"):
        RENAMED[_event, _name] = "fl_" + _name

for _event in ("rq_insert", "rq_issue", "rq_merge", "io_start", "io_done", "bio_queue",
               "bio_backmerge", "bio_frontmerge", "bio_bounce", "getrq", "plug", "unplug", "split"):
    RENAMED["block_" + _event, "tid"] = "common_pid"

# How ftrace derives its value from one that kernlens records unchanged.
RECLAIM_FILE = 2
CONVERTED = {
    ("mm_vmscan_throttled", "reason"): lambda ours: 1 << ours,
}
CONVERTED_THEIRS = {
    (_event, "file"): lambda flags: int(bool(flags & RECLAIM_FILE))
    for _event in ("mm_vmscan_lru_shrink_inactive", "mm_vmscan_lru_shrink_active",
                   "mm_vmscan_write_folio")
}
# Fields that ftrace does not have, but that correspond to another: (event, kernlens' name) ->
# (ftrace's name, how).
PAGE_BYTES_OF_STRUCT = 64
LINKED = {
    ("kmem_cache_free", "cache"): ("name", "function"),
    ("kmem_cache_alloc", "cache"): ("bytes_alloc", "function"),
    ("rss_stat", "mm"): ("mm_id", "both"),
}
for _event in ("alloc", "free", "free_batched", "alloc_zone_locked", "alloc_extfrag"):
    LINKED["kmem_mm_page_" + _event, "page"] = ("pfn", "page")

# Addresses of the kernel's constant strings, which ftrace records instead of the text.
texts = {}


def read_texts(path):
    with open(path) as file:
        for line in file:
            address, _, text = line.partition(" : ")
            texts[int(address, 16)] = text.strip()[1:-1]


class Link:
    """A field and one of ftrace's that identify the same thing in two ways."""

    def __init__(self, field, other, how):
        self.name, self.other, self.how = field.name, other, how
        self.there, self.back = {}, {}

    def is_kept(self, values, data):
        ours, theirs = number(values[self.name]), self.other.value(data)
        if self.how == "page":  # struct pages are in an array
            return self.there.setdefault(None, ours - theirs * PAGE_BYTES_OF_STRUCT) == (
                ours - theirs * PAGE_BYTES_OF_STRUCT)
        kept = self.there.setdefault(ours, theirs) == theirs
        return kept and (self.how != "both" or self.back.setdefault(theirs, ours) == ours)


def links(row, fmt):
    found = []
    for field in row.fields:
        name, how = LINKED.get((row.name, field.name), (None, None))
        if name in fmt.fields:
            found.append(Link(field, fmt.fields[name], how))
    return found


def balance_dirty_pages(values, fmt, data):
    """ftrace records what the kernel derives from the thresholds; returns what does not match."""
    # In 7.3 the name of the last one begins with "wb".
    limit, setpoint, bdi_setpoint = (fmt.fields[name].value(data)
                                     for name in ("limit", "setpoint", "bdi_setpoint", "wb_setpoint")
                                     if name in fmt.fields)
    wrong = []
    if (limit + (values["thresh"] + values["bg_thresh"]) // 2) // 2 != setpoint:
        wrong.append(f"thresholds {values}, ftrace's setpoint {setpoint}")
    if setpoint * values["bdi_thresh"] // (values["thresh"] + 1) != bdi_setpoint:
        wrong.append(f"bdi_thresh {values}, ftrace's bdi_setpoint {bdi_setpoint}")
    return wrong


# Fields that are checked by calculation, record by record.
FORMULAS = {"balance_dirty_pages": balance_dirty_pages}
OF_FORMULAS = {"balance_dirty_pages": {"thresh", "bg_thresh", "bdi_thresh"}}

# Each recorder reads these from memory that changes concurrently: (event, field).
SHAKY = {
    # The time at which each recorder is called.
    ("balance_dirty_pages", "paused"), ("timer_start", "now"), ("timer_expire_entry", "now"),
    ("writeback_mark_inode_dirty", "state"), ("writeback_dirty_inode_start", "state"),
    ("writeback_dirty_inode", "state"), ("writeback_single_inode_start", "state"),
    ("writeback_single_inode", "state"),
    ("rss_stat", "size"), ("global_dirty_state", "nr_dirty"), ("global_dirty_state", "nr_writeback"),
    ("global_dirty_state", "nr_dirtied"), ("global_dirty_state", "nr_written"),
}
# Fields that neither ftrace nor a cause nor /proc provides: (event, field) -> reason.
_NOT_THERE = "ftrace's record has no such field"
_OTHER_FORM = "ftrace has it in another form: a class, a mask or text made of it"
UNWITNESSED = {}
for _reason, _fields in (
    (_NOT_THERE, """ kfree_skb.rx_skaddr sock_send_length.skaddr sock_recv_length.skaddr
        consume_skb.location tcp_send_reset.reason tcp_probe.skaddr"""),
    ("what a task does changes before /proc can be asked", """
        lttng_statedump_process_state.mode lttng_statedump_process_state.status
        lttng_statedump_process_state.cpu"""),
    (_OTHER_FORM, """ compact_retry.result"""),
    ("newer kernels give an ID in place of the path, which is empty then", """
        mmap_lock_start_locking.memcg_path mmap_lock_released.memcg_path
        mmap_lock_acquire_returned.memcg_path"""),
):
    for _field in _fields.split():
        UNWITNESSED[tuple(_field.split("."))] = _reason

RWBS = (("W", 1), ("D", 2), ("R", 4))


def rwbs_text(bits):
    """LTTng's bits as the letters of the kernel's blk_fill_rwbs()."""
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


def is_value(value, text, name):
    """Does a field's value match a fact? For a name like flags&7 only these bits count."""
    if value is None:
        return False
    if "&" in name:
        return number(value) & int(name.split("&")[1], 0) == int(text, 0)
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
    """One field as both recorders have it."""

    def __init__(self, row, field, other, shaky):
        self.convert = CONVERTED.get((row.name, field.name))
        self.convert_theirs = CONVERTED_THEIRS.get((row.name, field.name))
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
        if self.field.format == "prio":  # as LTTng records it: 20 for nice 0
            value += 100
        if self.convert:
            value = self.convert(number(value))
        return number(value) & self.mask

    def theirs(self, data):
        value = self.other.value(data)
        if self.convert_theirs:
            return self.convert_theirs(value)
        if self.field.kind == "str" and isinstance(value, int):
            return texts.get(value & (1 << 64) - 1, value)
        if isinstance(value, bytes):
            if self.other.text:
                text = value.decode("utf-8", "replace")
                # In 7.3 ftrace has letters for writing zeros.
                return text.replace("WZ", "N", 1) if self.field.format == "rwbs" else text
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


# Ports that ftrace has only inside a struct sockaddr.
PORT_OF = {"sport": "saddr", "dport": "daddr"}


class PortPair(Pair):
    def theirs(self, data):
        return int.from_bytes(self.other.value(data)[2:4], "big")


def pairs(row, fmt):
    """The fields that both recorders have."""
    found = []
    for field in row.fields:
        name = RENAMED.get((row.name, field.name), field.name)
        if name is None:
            continue
        other = (fmt.fields.get(name) or fmt.fields.get(SYNONYMS.get(name))
                 or fmt.fields.get(field.name))
        if not other and field.name in PORT_OF and PORT_OF[field.name] in fmt.fields:
            found.append(PortPair(row, field, fmt.fields[PORT_OF[field.name]], False))
        if other:
            found.append(Pair(row, field, other, (row.name, field.name) in SHAKY))
    return found
