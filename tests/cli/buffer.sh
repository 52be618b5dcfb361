# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# The size of a running session's buffers, changed from another terminal.

# per_cpu NAME: bytes of a session's buffers for each CPU, as `status` shows them
per_cpu() {
	"$kernlens" status --json | jq --arg name "$1" \
		'.sessions[] | select(.name == $name) | .block_bytes * .blocks_per_cpu'
}

running() {
	[[ $(per_cpu "$1") ]]
}

mkfifo go
cat >script <<'END'
read -r line <go
# What the buffers that it begins with cannot hold.
dd if=/dev/zero of=/dev/null bs=1 count=20000 status=none
END
"$kernlens" --json record --no-dump --overwrite --buffer 256K --name grown -e 'syscall_entry_write' \
	-o grown -- taskset -c 0 bash script >grown.json 2>grown-err &
recorder=$!
check "a recording runs" wait_until running grown
check "with the size it was given" test "$(per_cpu grown)" -eq $((256 << 10))
kl buffer 1M
expect "buffer SIZE, of the only session" 0
says out '^grown: 1 MiB per CPU, was 256 KiB$' "tells the new size and the old one"
check "and status agrees" test "$(per_cpu grown)" -eq $((1 << 20))
kl --json buffer 600K grown
expect "buffer SIZE SESSION" 0
json "rounds up to whole blocks" '.name == "grown" and .bytes >= 600 * 1024 and .bytes <= 640 * 1024 and .bytes_before == 1048576'
kl buffer 1M grown
kl buffer 2M grown
expect "more than four times what it began with" 1
says err 'requested, the range is 4 to [0-9]+' "and says what is possible"
kl buffer 1Q grown
expect "a size that is none" 2
kl buffer
expect "no size" 2
kl buffer 1M nix
expect "a session that is not there" 1
kl_nobody buffer 256K grown
expect "another user's session" 1
check "is left as it was" test "$(per_cpu grown)" -eq $((1 << 20))
echo >go
wait "$recorder"
check "the recording ends well" test "$(jq '.lost' grown.json)" -eq 0
check "with more records than the first buffers had room for" \
	test "$("$kernlens" print grown -e syscall_entry_write --format csv | wc -l)" -gt 18000

# It shrinks while records are written, and loses none.
cat >script <<'END'
dd if=/dev/zero of=/dev/null bs=1 count=3000 status=none
"$1" buffer 128K shrunk >said
"$1" buffer 4M shrunk >>said
for ((i = 0; i < 10; i++)); do
	dd if=/dev/zero of=/dev/null bs=1 count=500 status=none
	sleep 0.05
done
END
kl --json record --no-dump --buffer 2M --name shrunk -e 'syscall_entry_write /count == 1/' -o shrunk -- \
	bash script "$kernlens"
expect "one that shrinks and grows again" 0
json "loses no record" ".lost == 0"
check "and has all of them" test "$("$kernlens" report --json shrunk | jq .records)" -eq 8000
