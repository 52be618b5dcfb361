# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Readers of a session that another process created: the names of its definitions, and each reader's
# own losses.

# events FILE: a reader's records in sorted order, without its losses.
events() {
	jq -c 'select(.event) | [.event, .fields, .variables, .pid]' "$1" | sort
}

mkfifo go go2 slow
cat >script <<'END'
bash half &
echo $! >pid
read -r line <go
# In bursts that the fast reader keeps up with, and on one CPU, so that they overrun the slow one.
for ((i = 0; i < 20; i++)); do
	dd if=/dev/zero of=/dev/null bs=512 count=250 status=none
	sleep 0.15
done
wait
END
cat >half <<'END'
read -r line <go2
exec dd if=/dev/zero of=/dev/null bs=128 count=1000 status=none
END
"$kernlens" record -q --name read --buffer 128K -v priority,cpu -e 'fn:vfs_write /arg3 == 512/' \
	-e 'syscall_exit_write /ret > 100/' -o recorded -- taskset -c 1 bash script 2>record-err &
recorder=$!
wait_until test -s pid
"$kernlens" live --session read --format json -o fast 2>fast-err &
fast=$!
"$kernlens" live --session read --format json -p "$(cat pid)" -o one 2>one-err &
one=$!
# This reader's output is not read until everything is over.
exec 7<>slow
"$kernlens" live --session read --format json -o slow 2>slow-err 7>&- &
slow=$!
check "three readers beside the recorder" wait_until readers read 4
kl_nobody live --session read
expect "another user cannot read it" 1
kl live --session read -e sched_switch
expect "nor can a reader say what is recorded" 2
kl live --session read --name other
expect "nor rename the session" 2
kl live --session nix
expect "a session that is not there" 1
echo >go
echo >go2
wait "$recorder"
check "the recorder is not held up" test ! -s record-err
exec 8<slow
cat <&8 >slow-out 7>&- &
exec 7>&- 8<&-
wait "$fast" "$one" "$slow" $!

check "names and types of what the session defines" jq -s -e \
	'[.[] | select(.event == "fn:vfs_write" and (.fields.count // .fields.arg3) == 512)] | length == 5000' fast
check "and its variables" jq -s -e \
	'[.[] | select(.event == "syscall_exit_write")] | length >= 6000 and all((.variables.priority | type) == "number")' fast
"$kernlens" print --format json recorded >printed
events printed >events-printed
events fast >events-fast
check "each value as the recorder has it" cmp events-printed events-fast
check "nothing is lost by the fast one" test ! -s fast-err
check "one process: all of it, and no other" jq -s -e --argjson pid "$(cat pid)" \
	'([.[] | select(.event == "syscall_exit_write" and .fields.ret == 128)] | length == 1000) and all(.pid == $pid)' one
lost=$(sed -nE 's/.* and ([0-9,]+) by this reader.*/\1/p' slow-err | tr -d ,)
check "the slow one has lost some" test "${lost:-0}" -gt 0
events slow-out >events-slow
check "and knows how many" test $((lost + $(wc -l <events-slow))) -eq "$(wc -l <events-printed)"
check "what it has is right" test -z "$(comm -23 events-slow events-printed)"
