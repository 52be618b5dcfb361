# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# kernlens locks --holds: how often locks are taken and how long they are held, which a module knows,
# or which probes of ftrace see.

export TMPDIR=$work/tmp
mkdir "$TMPDIR"
chmod 777 "$TMPDIR"
tracing=/sys/kernel/tracing
mountpoint -q $tracing || mount -t tracefs none $tracing

# Two processes write into one file: each waits for the other, in the same function.
kl locks --json --holds sleeping -- python3 "$here/locks.py" write "$work/file"
expect "two processes that write into one file" 0
read -r first second <"$work/err"
json "take and hold its lock" '[.rows[] | select(.lock | startswith("rwsem at 0x"))][0] | .taken >= 6 and .waits >= 2 and
	.waited_ns > 1e6 and .held_ns > 1e6 and .worst_held_ns <= .held_ns and .unknown == 0 and
	(.wait_buckets | add) == .waits and (.held_buckets | add) == .taken'
json "only one holds it at a time" '.elapsed_ns as $all | [.rows[] | select(.lock | startswith("rwsem at 0x"))][0] |
	.held_ns <= $all'
json "each waits for the other" "$first as \$a | $second as \$b |"'
	[.rows[] | select(.lock | startswith("rwsem at 0x"))][0] as $row |
	($row.clashes | map(select(.owner_tid == $a or .owner_tid == $b)) | map(.ns) | add) > 0.9 * $row.waited_ns'
json "the stack traces of both are there" '[.rows[] | select(.lock | startswith("rwsem at 0x"))][0].clashes[0] |
	([.frames[].symbol] | index("vfs_write")) and ([.owner_frames[].symbol] | index("vfs_write"))'
json "the lock is named as the member of a struct" '[.rows[] | select(.lock | startswith("rwsem at 0x"))][0].member |
	test("^[a-z_]+\\.vfs_inode\\.i_rwsem$")'
json "all acquisitions are in the rows" '.taken == ([.rows[].taken] | add) or (.rows | length) == 20'

kl locks --json --holds all --by class --top 0 -o classes -- sh -c 'ls -l /usr/lib >&2; exec true'
expect "locks by their class" 0
json "members of structs" '[.rows[].class] | contains(["mm_struct.mmap_lock (rwsem)"]) and contains(["dentry.d_lockref.lock (spinlock)"]) and
	contains(["task_struct.alloc_lock (spinlock)"])'
json "each of its own type" '[.rows[] | select(.class | startswith("dentry."))] | all(.[]; .type == "spinlock")'
kl locks --json --by class -i classes
json "and later, where they were taken first" '[.rows[].class] | all(.[]; startswith("dentry.") | not) and
	any(.[]; startswith("first taken in "))'

# A module whose use of locks is known; a kernel that checks locks would end.
if [[ ! -e /proc/lockdep ]]; then
	insmod "$here/../../build/$(uname -r)/kl_locking.ko"
	run=/sys/module/kl_locking/parameters/run
	kl locks --json -a --holds sleeping --top 0 -o holds -- \
		sh -c "for name in right_trylock right_interrupted right_downgrade right_rtmutex right_nested wrong_held_long; do
			echo \$name >$run; done"
	expect "what a module holds" 0
	json "three times, twice in vain, and once for 1.5 s" '[.rows[] | select(.lock == "first (mutex)")] | length == 1 and
		(.[0] | .taken == 3 and .failed == 2 and .waits == 0 and .unknown == 0 and
		.worst_held_ns >= 1.5e9 and .worst_held_ns < 3e9 and .held_ns < .worst_held_ns + 1e9)'
	json "the functions that take it" '[.rows[] | select(.lock == "first (mutex)")][0].functions | map(.function) |
		sort == ["fail_killable", "right_interrupted", "right_trylock", "try_first", "wrong_held_long"]'
	json "a lock that a writer gives to readers" '[.rows[] | select(.lock == "rw (rwsem)")] | length == 1 and
		(.[0] | .taken == 2 and .failed == 0 and .unknown == 0)'
	json "an rtmutex" '[.rows[] | select(.lock == "boosted (rtmutex)")] | length == 1 and .[0].taken == 1'
	json "nested mutexes" '[.rows[] | select(.lock == "inner (mutex)" or .lock == "outer (mutex)")] | map(.taken) | length == 2 and min > 0'
	kl locks -i holds --by stack --top 1000
	says out '^held 1\.[0-9]+ s, at most 1\.[0-9]+ s, waited 0 ns: first \(mutex\), taken 1 time$' "the longest, by stack trace"
	says out '^    wrong_held_long\+0x[0-9a-f]+ \(kl_locking\)$' "with its frames"
	kl locks -i holds --histogram
	says out '^locks taken [0-9,]+ times in [0-9.]+ m?s, held ' "they are summed up"
	says out '^ *TAKEN +WAITS +WAITED +WORST +HELD +MEAN +WORST +LOCK +TAKEN IN +HELD BY *$' "the table has a head"
	says out '^ *FROM +BELOW +WAITS +HOLDS *$' "a histogram"
	kl locks --json --holds spinlock,rwlock --top 0 -- sh -c "echo right_readers >$run; echo right_irqsave >$run"
	expect "spinlocks of a command" 0
	json "a lock that is read twice at once, then written" '[.rows[] | select(.lock == "bh_table (rwlock)")] | length == 1 and
		(.[0] | .taken == 3 and .unknown == 0 and .failed == 0)'
	json "locks that a switch of tasks passes on are not counted as held" '.elapsed_ns as $all |
		all(.rows[]; .worst_held_ns < 0.9 * $all)'
	rmmod kl_locking
fi

# The same as probes of ftrace at the same functions, in one process and in one stretch of time.
python3 "$here/locks_holds.py" probe
kl locks --json --holds mutex,rwsem --top 0 -- python3 "$here/locks_holds.py" work
expect "with probes of ftrace beside it" 0
python3 "$here/locks_holds.py" compare "$work/out" seen >compared
tap "compared with ftrace" compared
python3 "$here/locks_holds.py" remove

kl locks -a --holds all
expect "spinlocks of all tasks" 2
says err 'use --holds sleeping, or select tasks' "are refused"
kl locks --duration 0.1 --holds spinlock
expect "even without -a" 2
kl locks --holds mutex,nothing -- true
expect "an unknown type" 2
says err '"mutex,nothing" is not a list of mutex' "is reported"
kl locks --holds mutex --by owner -- true
expect "what is for waits only" 2
kl locks --holds mutex --module loop
expect "a module" 2
kl_nobody locks --holds mutex -- true
expect "as an ordinary user" 1
says err 'require CAP_SYS_ADMIN' "is refused"
check "nothing is left behind" test -z "$(ls -A "$TMPDIR")"
unset TMPDIR
