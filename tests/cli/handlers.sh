# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# Handlers from other modules: the example, used as a user would.

example=${kernlens%/*}/$(uname -r)/kl_largest.ko
blocks=(dd if=/dev/zero of=/dev/null bs=512 count=1000 status=none)

kl list handlers
silent out '^(largest|external)' "without its module the example is not in the list"
kl stat -e 'syscall_exit_read :largest(ret, 3)' -- true
expect "and cannot be named" 2
says err 'unknown handler "largest"'
check "the example is loaded" insmod "$example"
if [[ $(modinfo -F vermagic "$example") == *modversions* ]]; then
	check "with the versions of the symbols that it uses" bash -c \
		'modprobe --dump-modversions "$0" | grep -q kl_handler_register' "$example"
else
	skip "the versions of the symbols that it uses" "the kernel has none"
fi
kl list handlers
says out '^largest +kl_largest +largest\(EXPRESSION' "the list has it, with its module"
kl list --json handlers largest
json "in JSON, too" '.[0] | .name == "largest" and .module == "kl_largest" and .available'
kl_nobody list --json handlers largest
json "and for everybody" '.[0].available'

# 500 reads of 512 bytes, and one of 300 at the end of the file.
head -c $((500 * 512 + 300)) /dev/zero >blocks
kl stat -e 'syscall_exit_write /ret > 0/ :largest(ret, 3)' -- dd if=blocks of=/dev/null bs=512 status=none
expect "stat with it" 0
says err 'the 3 largest of 501 values' "prints what it says"
says err '^ +512 +cpu [0-9]+ +tid [0-9]+ +dd$' "line by line"
kl stat --json -e 'syscall_exit_write /ret > 0/ :largest(0 - ret, 1)' -- dd if=blocks of=/dev/null bs=512 status=none
json "in JSON: its text, and how often it was called" \
	'.rules[0] | .handler == "largest" and .fired == 501 and .missed == 0 and (.text | test("-300 "))'
kl record -o recorded -e 'syscall_entry_openat' -e 'syscall_exit_write /ret > 0/ :largest(ret)' -- "${blocks[@]}"
expect "record with it" 0
says err 'the 10 largest of 1000 values' "prints it at the end"
kl_nobody stat -e 'syscall_exit_write /ret > 0/ :largest(ret, 2)' -- "${blocks[@]}"
expect "it is for everybody" 0
says err 'the 2 largest of 1000 values' "on one's own processes"

kl stat -e 'syscall_exit_write :largest()' -- true
expect "without its value it is refused" 2
kl stat -e 'syscall_exit_write :largest(ret, 0)' -- true
expect "what it does not take is refused" 1
says err '"0" is not a number from 1 to 100' "in its own words"
kl stat -e 'syscall_exit_write :largest(ret) by pid' -- true
expect "keys that it does not take are" 2
kl stat -e 'syscall_exit_write :external()' -- true
expect "no handler is called external" 2

"$kernlens" stat -a -e 'sched_switch :largest(next_tid)' --duration 20 >/dev/null 2>&1 &
tracer=$!
for ((i = 0; i < 100; i++)); do
	[[ $(cat /sys/module/kl_largest/refcnt) == 0 ]] || break
	sleep 0.1
done
check "while it is used it cannot be unloaded" bash -c '! rmmod kl_largest'
kill -9 "$tracer"
wait "$tracer" 2>/dev/null
for ((i = 0; i < 100; i++)); do
	[[ $(cat /sys/module/kl_largest/refcnt) != 0 ]] || break
	sleep 0.1
done
check "afterwards it can" rmmod kl_largest
