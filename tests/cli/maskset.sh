# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Masksets in files, by name in record, live and stat, and switched in a running session.

export XDG_CONFIG_HOME=$work/config
folder=$XDG_CONFIG_HOME/kernlens/masksets
blocks=(dd if=/dev/zero of=/dev/null bs=512 count=1000 status=none)

# ------------------------------------------------------------------------ files

kl maskset
expect "maskset lists" 0
says out '^RDEFAULT +built in' "those that are built in"
kl maskset create io -e '# Reads and writes' -e syscall_exit_read,syscall_exit_write \
	-e 'syscall_exit_write /ret == 512/ :count'
expect "create" 0
check "writes a file" grep -q '^syscall_exit_write /ret == 512/ :count$' "$folder/io"
kl maskset list
says out "^io +$folder/io +Reads and writes" "which is listed with its first comment"
kl maskset create io -e irq
expect "create does not replace" 1
kl maskset create io -e irq --force
expect "but with --force" 0
kl maskset create wrong -e 'sched_switch /nxt_tid == 1/'
expect "a wrong line is refused" 2
says err 'wrong:1:15: .*did you mean "next_tid"' "with line and column"
check "and leaves no file" test ! -e "$folder/wrong"
for name in RALL default events a/b ../x 1x; do
	kl maskset create "$name" -e irq
	expect "no maskset is called $name" 2
done
kl maskset set io -e '# more' -e sched_switch
expect "set" 0
kl maskset show io
check "adds lines" test "$(cat out)" == $'irq\n# more\nsched_switch'
kl maskset show io --json
json "as JSON" '.name == "io" and .lines == [{"line": 1, "text": "irq"}, {"line": 3, "text": "sched_switch"}]'
kl maskset export io -o exported
kl maskset import exported other
expect "export and import" 0
check "there and back" cmp "$folder/io" "$folder/other"
kl maskset import exported
expect "import takes the file's name" 0
check "and makes that maskset" cmp "$folder/io" "$folder/exported"
printf 'irq\nsched_switch /next_tid\n' >bad
kl maskset import bad
expect "a wrong file is refused" 2
says err '^kernlens: bad:2:' "with its line"
printf 'irq\nsched_switch /next_tid\n' >"$folder/bad"
kl maskset list
says out '^bad +.*invalid: .*bad:2:' "a file that went wrong is listed so"
kl maskset list --json
json "also in JSON" '.[] | select(.name == "bad").good == false'
rm "$folder/bad"
kl maskset export RDEFAULT -o default
kl maskset import default mydefault
expect "what is built in can be exported" 0
kl maskset delete mydefault
expect "delete" 0
kl maskset delete mydefault
expect "once" 1
kl maskset delete RALL
expect "what is built in stays" 2
kl maskset shw io
expect "a wrong word" 2
says err 'did you mean "show"'

# ------------------------------------------------------------------------ by name

cat >"$folder/writes" <<END
# Writes of 512 bytes
syscall_exit_write /ret == 512/
END
kl record -q -m writes -o named -- "${blocks[@]}"
expect "record -m NAME" 0
check "records what it says" bash -c \
	'"$0" print --format json named | jq -s -e "length == 1000 and all(.fields.ret == 512)"' "$kernlens"
kl record -q -m writes -e syscall_exit_read -o both -- "${blocks[@]}"
check "-e adds to it" bash -c \
	'"$0" print --format json both | jq -s -e "[.[] | select(.event == \"syscall_exit_read\")] | length >= 1000"' "$kernlens"
echo 'syscall_entry_write :count by comm' >"$folder/counts"
kl stat --json -m counts -- "${blocks[@]}"
check "stat -m NAME" jq -e '.rules[0].entries[0] | .count == 1000 and .keys.comm == "dd"' out
kl live -m writes -o lived -- "${blocks[@]}"
check "live -m NAME" test "$(grep -c 'ret=512' lived)" -eq 1000
kl record -m nix -- true
expect "one that is not there" 2
says err 'unknown maskset "nix"'
printf 'irq\n sched_swich\n' >"$folder/typo"
kl record -m typo -- true
expect "a wrong file" 2
says err 'typo:2:2: ' "with line and column"

# An alarm widens the tracing: events before it are missing, events after it are recorded.
cat >"$folder/armed" <<END
syscall_entry_openat /filename == "/etc/hostname"/ :use(wide)
END
cat >"$folder/wide" <<END
syscall_exit_write /ret == 3/
syscall_entry_openat /filename == "/etc/passwd"/ :use(armed)
END
cat >script <<END
for i in 1 2 3 4 5 6 7 8 9 10; do echo ab; done >/dev/null
read -r line </etc/hostname; sleep 0.5
for i in 1 2 3 4 5; do echo ab; done >/dev/null
read -r line </etc/passwd; sleep 0.5
for i in 1 2 3 4 5 6 7; do echo ab; done >/dev/null
END
kl record -q -m armed -o widened -- bash script
expect "use(NAME) of a user's maskset" 0
check "and back: only what was between" bash -c \
	'"$0" print --format json widened | jq -s -e "[.[] | select(.event == \"syscall_exit_write\")] | length == 5"' "$kernlens"

# ------------------------------------------------------------ from another terminal

# count_of TRACE CONDITION: counts a trace's records for which jq's CONDITION holds.
count_of() {
	"$kernlens" print --format json "$1" | jq -s "[.[] | select($2)] | length"
}

echo 'fn:vfs_write /arg3 == 512/ :count' >"$folder/armed"
cat >"$folder/wide" <<END
fn:vfs_write /arg3 == 512/
syscall_exit_write /ret == 512/ # as well
END
cat >"$folder/other" <<END
syscall_exit_write /ret == 512 && flag(open)/
syscall_entry_openat :set(open)
module_load :use(wide)
END
printf 'fn:vfs_read\n' >"$folder/more"
printf 'sched_process_exec :set(new)\n' >"$folder/flags"
mkfifo go
cat >script <<END
for i in 1 2 3 4; do read -r line; dd if=/dev/zero of=/dev/null bs=512 count=\${i}00 status=none; done <go
END
"$kernlens" record -q --name switched -m armed -e 'sched_process_exit :use(wide)' \
	-e 'syscall_entry_close :clear(open)' -o switched -- bash script 2>record-err &
exec 7>go
check "a session can be given a name" wait_until "$kernlens" maskset list --session switched
kl maskset list --session switched --json
json "its masksets" '[.[] | select(.id > 2) | [.name, .used]] == [["events", true], ["wide", false]]'
json "and what is in them" '.[] | select(.name == "wide").events == 2'
kl maskset show wide --session switched
says out '^fn:vfs_write +fn:vfs_write /arg3 == 512/$' "with events and rules as they were written"
kl maskset use RNOTHING --session switched
expect "use: nothing from now on" 0
echo >&7; sleep 1
kl maskset use wide --session switched
expect "use: a maskset that the session has" 0
echo >&7; sleep 1
kl maskset use other --session switched
expect "use: one from a file, with a flag and a maskset of the session" 0
kl maskset list --session switched --json
json "which is now its own" '[.[] | select(.used).name] == ["other"]'
echo >&7; sleep 1
kl maskset use more --session switched
expect "an event that the session has not defined" 2
says err 'more:1:1: the session has no event fn:vfs_read'
kl maskset use flags --session switched
expect "a flag that it does not have" 2
says err 'flags:1:1: the session has no flag new'
kl maskset use nix --session switched
expect "a maskset that is not there" 1
kl_nobody maskset use RNOTHING --session switched
expect "another user cannot" 1
says err 'unknown session' "and is not told of it"
kl maskset use other --load
expect "without --session: the only one" 0
echo 'syscall_exit_write /ret == 512/' >"$folder/other"
kl maskset use other --load --session switched
expect "--load takes the file anew" 0
echo >&7; exec 7>&-
wait $!
check "nothing while it was RNOTHING, then each once" test \
	"$(count_of switched '.event == "syscall_exit_write"')" -eq $((200 + 300 + 400))
check "of defined events, too" test "$(count_of switched '.event == "fn:vfs_write"')" -eq 200
kl maskset use wide --session switched
expect "no session any more" 1

# An ordinary user switches masksets of their own sessions.
chmod 777 .
setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all -- env XDG_CONFIG_HOME="$XDG_CONFIG_HOME" \
	"$kernlens" record -q --name mine -e syscall_exit_write -o own -- sleep 3 &
wait_until "$kernlens" maskset list --session mine
kl_nobody maskset use RNOTHING --session mine
expect "a user switches their own session" 0
kl maskset list --session mine --json
json "which root sees" '[.[] | select(.used).name] == ["RNOTHING"]'
wait $!
