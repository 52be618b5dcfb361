# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# kernlens locks: waits for the locks of programs, whose kinds, functions, owners and times are known.

programs=$here/../../build/tests/cli
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
chmod 777 "$TMPDIR"

# waited TEXT FILTER WAITS FUNCTIONS: passes if one row is selected, whose lock was held for 20 ms.
waited() {
	json "$1" "[.rows[] | select($2)] | length == 1 and (.[0] | .waits == $3 and .ns > 10e6 * .waits and .ns < 400e6 and
		.owners[0].owner_tid == $holder and (.functions | map(.function) | sort) == $4)"
}

# known TEXT SEMAPHORE: tests the rows of lock-waits. SEMAPHORE: what a semaphore is called.
known() {
	read -r address holder < <(grep ^0x "$work/err")
	waited "$1: a mutex within a variable" '.lock == "account+0x8 (pthread mutex)"' 1 '["take_account"]'
	waited "a mutex in allocated memory" ".lock == \"pthread mutex at $address in process $holder\" and .pid == $holder" 1 \
		'["take_allocated"]'
	waited "a mutex with priority inheritance" '.lock == "inheriting (pthread mutex)"' 1 '["take_inheriting"]'
	waited "a rwlock, whichever of its words is waited for" '.lock == "table_lock (pthread rwlock)"' 2 '["read_table", "write_table"]'
	waited "a semaphore" ".lock == \"slots ($2)\"" 1 '["take_slot"]'
	waited "the mutex of a condition" '.lock == "condition_mutex (pthread mutex)"' 1 '["wait_for_condition"]'
	json "all of them" '.waits == 7 and (.rows | length) == 6 and .lost == 0'
	json "others are counted" '.conditions >= 2 and .conditions_ns > 10e6'
}

kl_nobody locks --json -- "$programs/lock-waits"
expect "an ordinary user's program" 0
known "with debug information, if it is there" "POSIX semaphore"
kl_nobody locks -o "$TMPDIR/kept" --json --conditions -- "$programs/lock-waits"
expect "with conditions" 0
json "a condition" '[.rows[] | select(.type == "condition")] | length == 1 and (.[0] | .ns > 10e6 and .functions[0].function == "wait_for_condition")'
json "a barrier" '[.rows[] | select(.type == "barrier")] | length == 1 and (.[0].waits | . >= 7 and . <= 14)'
json "none are left out" '.conditions == 0 and .waits > 8'
cp "$work/out" all
kl locks -i "$TMPDIR/kept" --json --by type --top 0
json "without them" '([.rows[].waits] | add) == .waits and .waits == 7 and all(.rows[]; .type | test("^condition|^barrier|^end of") | not)'
json "nothing is lost by that" "(.waits + .conditions) == $(jq .waits all) and (.ns + .conditions_ns) == $(jq .ns all)"
kl locks -i "$TMPDIR/kept"
says out '^7 waits for locks in [0-9.]+ ms, [0-9.]+ ms in all$' "in words"
says out ' account\+0x8 \(pthread mutex\) +take_account +lock-waits-[0-9]+ *$' "a lock, where it is taken and by whom held"
says out '^not shown: [0-9]+ waits for conditions, barriers and threads, [0-9.]+ ms in all \(--conditions\)$' "what is not shown"
rm -r "$TMPDIR/kept"

kl_nobody locks --json -- "$programs/lock-waits-cxx"
expect "C++" 0
json "a mutex" '[.rows[] | select(.lock == "store::names (pthread mutex)")] | length == 1 and (.[0] | .waits == 1 and .ns > 8e6 and
	.functions[0].function == "take_names(int)")'
json "a shared mutex" '[.rows[] | select(.lock == "store::table (pthread rwlock)")] | length == 1 and (.[0] | .waits == 1 and .ns > 8e6 and
	.functions[0].function == "change_table(int)")'
json "a result is no lock" '.waits == 2 and .conditions >= 1 and .conditions_ns > 8e6'

# As on a machine without debug information.
without_debug() {
	unshare -m bash -c 'mount -t tmpfs none /usr/lib/debug; exec "$@"' - "$kernlens" "$@" >"$work/out" 2>"$work/err"
}
without_debug locks --only programs --json -- "$programs/lock-waits"
known "without debug information" futex
without_debug locks --only programs --conditions --json --by type -- "$programs/lock-waits-cxx"
json "the end of a thread, and a result" '[.rows[].type] | contains(["end of a thread", "condition", "pthread mutex"])'

if command -v rustc >/dev/null; then
	kl_nobody locks --json -- "$programs/lock-waits-rust"
	expect "Rust" 0
	json "a mutex" '[.rows[] | select(.lock == "lock_waits::NAMES (Rust mutex)")] | length == 1 and
		(.[0] | .ns > 8e6 and .functions[0].function == "lock_waits::take_names")'
	json "a rwlock" '[.rows[] | select(.lock == "lock_waits::TABLE (Rust rwlock)")] | length == 1 and
		(.[0] | .ns > 8e6 and .functions[0].function == "lock_waits::read_table")'
fi
kl locks --only kernel --json -- "$programs/lock-waits"
expect "the kernel's only" 0
json "has none of a program" '[.rows[] | select(.lock | test("pthread|futex|POSIX"))] == [] and .conditions == 0'
kl_nobody locks --only kernel -- true
expect "as an ordinary user" 1
says err "the kernel's locks require CAP_SYS_ADMIN" "is refused"
kl locks --only nothing -- true
expect "an unknown kind" 2
says err '--only: "nothing" is not kernel or programs' "is reported"
kl locks --module loop --conditions
expect "a module and conditions" 2
check "nothing is left behind" test -z "$(ls -A "$TMPDIR")"
unset TMPDIR
