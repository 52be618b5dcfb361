# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Requests for debuggers. tests/debugger puts them into a machine's mailbox.

# head_of FILE: the numbers at the beginning of a request: version, kind, size, session.
head_of() { od -An -tu4 -N 24 -w24 "$1" | awk '{ print $1, $2, $5, $6 }'; }

kl mailbox hook vfs_read
expect "no file" 2
says err '-o FILE'
kl mailbox -o request
expect "no request" 2
says err 'hook FUNCTION, unhook'
kl mailbox -o request hook 'vfs_*'
expect "a pattern is no function" 2
kl mailbox -o request hook vfs_read --if 'count >'
expect "half an expression" 2
says err 'filter:1:'
kl mailbox -o request hook vfs_read --do nothing_known
expect "an unknown handler" 2
says err 'nothing_known'
kl mailbox -o request hook vfs_read --types /proc/self/exe
expect "a file without types" 1
says err 'no type information'
kl mailbox -o request hook vfs_read --if 'count > 4096'
expect "names of arguments need types" 2
says err 'BTF'
kl mailbox -o request use flight RALL
expect "a session is named by its number" 2
kl mailbox -o request use 1 "$(printf '%032d' 0)"
expect "a long name of a maskset" 1
says err '31 bytes'
kl mailbox -o request hook "$(printf 'f%0128d' 0)"
expect "a long name of a function" 1
check "nothing was written" test ! -e request

kl mailbox -o request unhook 7
expect "a request to unhook" 0
check "it has the layout of the mailbox" test "$(head_of request)" = '1 2 72 7'
kl mailbox -o request use 3 RALL
expect "a request to use a maskset" 0
check "which has the name" grep -q RALL request
check "and the session" test "$(head_of request)" = '1 3 72 3'
kl mailbox -o request hook vfs_read --if 'count > 4096 && comm == "cat"' --do 'count by comm' \
	--types /sys/kernel/btf/vmlinux
expect "a request to hook" 0
check "it says its size" test "$(head_of request)" = "1 1 $(stat -c %s request) 0"
check "the module looks the function up" grep -q vfs_read request
kl mailbox -o again hook vfs_read --if 'count > 4096 && comm == "cat"' --do 'count by comm' \
	--types /sys/kernel/btf/vmlinux --address ffffffff81234560
expect "a request with an address" 0
check "it has the address" grep -q 60452381ffffffff <(od -An -v -tx1 again | tr -d ' \n')
check "no session was created" test "$("$kernlens" status --json | jq '.sessions | length')" = 0
check "the mailbox is off" grep -qx N /sys/module/kernlens/parameters/mailbox
check "and only root can switch it on" test "$(stat -c %a /sys/module/kernlens/parameters/mailbox)" = 600
