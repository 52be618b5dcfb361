# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: that markers fire on each kernel is tested with the module.
# USDT markers: of programs whose arguments are known, in registers, memory and constants, at several
# locations, position-independent or not, with 64 and 32 bits; semaphores; markers of stock programs,
# compared with readelf and with what the programs did; filters, keys and values; errors.

programs=$(realpath "$here/../../build/tests/cli")
python=$(realpath /usr/bin/python3)
cpp=$(realpath /usr/lib/x86_64-linux-gnu/libstdc++.so.6)
n=200

# notes FILE: a line for each location, with its address and arguments, as readelf has them.
notes() {
	readelf -nW "$1" | awk '/Provider:/ { provider = $NF } /^ *Name:/ { name = $NF }
		/^ *Location:/ { at = $2; sub(/,/, "", at); semaphore = $NF }
		/^ *Arguments:/ { sub(/^ *Arguments: /, ""); print provider ":" name, at, semaphore != "0x0000000000000000", $0 }' |
		while read -r name at rest; do echo "$name $((at)) $rest"; done | sort
}

# ------------------------------------------------------------------------------- lists

for file in "$programs/usdt" "$python" "$cpp"; do
	kl list --json "usdt:$file"
	jq -r '.[] | "\(.provider):\(.marker)" as $name | .locations[] |
		"\($name) \(.address) \(if .semaphore > 0 then 1 else 0 end) \(.arguments)"' "$work/out" | sort >listed
	# The addresses of one have been moved on purpose.
	notes "$file" | awk '$1 == "kltest:moved" { $2 -= 65536 } { print }' >expected
	check "$(wc -l <expected) locations of markers of ${file##*/}, as readelf has them" sh -c 'test -s expected && cmp expected listed'
done
kl list "usdt:$programs/usdt"
says out '^ *kltest:registers +1 +no +arg1 u64, arg2 s32, arg3 s16, arg4 u8, arg5 u8, arg6 u32, arg7 s32, arg8 u64, arg9 s32$'
says out '^ *kltest:twice +2 +no +arg1 s64, arg2 is missing at one of the locations$'
says out '^ *kltest:guarded +1 +yes '
kl list -v "usdt:$programs/usdt:kltest:tw*"
check "the locations of one" test "$(grep -Ec '^ +0x[0-9a-f]+ .*(-4@%eax|8@%rbx 4@\$1)$' "$work/out")" -eq 2
check "and of no other" test "$(grep -c kltest: "$work/out")" -eq 1
kl list --names "usdt:$python:*:gc__*"
check "names can be used as they are" test "$(xargs <"$work/out")" = \
	"usdt:$python:python:gc__done usdt:$python:python:gc__start"
kl list usdt:/bin/sh
expect "a program without markers" 1
says err '/bin/sh has no USDT markers$'
kl list "usdt:$python:python:gc__strat"
says err 'did you mean python:gc__start\?'
kl list usdt:/etc/passwd
says err 'is not an ELF file'
kl list usdt:$$
says err 'no file that process [0-9]+ has mapped has USDT markers'

# -------------------------------------------------------------------------- arguments

# The values that the program has computed. Multiples are of 2^33 and 2^40.
values='
def s($n; $bits): ($n % pow(2; $bits)) as $u | if $u >= pow(2; $bits - 1) then $u - pow(2; $bits) else $u end;
[.[] | select(.event | endswith(":" + $marker)) | .fields] as $all |
($all | length) == $n and ([range(1; $n + 1)] | all(. as $i | $all[$i - 1] |
	if $marker == "registers" then .arg1 == $i * (pow(2; 33) + 1) and .arg2 == -$i and .arg3 == -$i and
		.arg4 == $i % 256 and .arg5 == 3 * $i % 256 and .arg6 == 5 and .arg7 == -7
	elif $marker == "memory" then .arg1 == $i * pow(2; 40) and .arg2 == [-1, -2, -3, $i][$i % 4] and .arg3 == -$i and
		.arg4 == -3 and .arg5 == 7 * $i and .arg6 == .arg1
	elif $marker == "globals" then .arg1 == -$i and .arg2 == $i * pow(2; 35) and (.arg3 | tostring) == $array and .arg4 == 0
	elif $marker == "twice" then (keys - ["doubled", "word"]) == ["arg1"] and .arg1 == (if $i % 2 == 1 then -$i else $i * pow(2; 40) end)
	elif $marker == "floating" then keys == ["arg2"] and .arg2 == $i
	elif $marker == "text" then .word == "word \($i)" and .doubled == .arg1 * 2
	elif $marker == "guarded" then .arg1 == $i and .arg2 == 1
	else .arg1 == $i end))'

for program in usdt usdt-plain; do
	kl record -q --force -o marked -e "usdt:$programs/$program:*:*" -v 'word=user((char *)arg1)' \
		-v 'doubled=arg1 * 2' -- "$programs/$program" run $n
	expect "$program: all its markers" 0
	array=$(($(grep ^0x "$work/err")))
	says err 'floating: arg1 is a floating-point number: omitted; arg3 is thread-local data: omitted' \
		"$program: what cannot be read is named"
	"$kernlens" print --format json marked | jq -s -c . >events
	for marker in registers memory globals twice floating text guarded moved; do
		check "$program: $marker: each hit with its arguments" jq -e --arg marker $marker --argjson n $n \
			--arg array "$array" "$values" events
	done
done
"$kernlens" print -e "usdt:$programs/usdt-plain:kltest:twice /arg1 < 0/" marked >some
check "recorded events can be filtered by them" test "$(wc -l <some)" -eq $((n / 2))

kl record -q --force -o marked -e "usdt:$programs/usdt-32:kltest:narrow" -- "$programs/usdt-32"
expect "a program of 32 bits" 7
"$kernlens" print --format json marked | jq -s -c . >events
check "all its hits, with arguments" jq -e 'length == 100 and ([range(1; 101)] as $i | [.[].fields] ==
	[$i[] | { arg1: -., arg2: (. * 5), arg3: -., arg4: (4294967296 - .) }])' events

# ------------------------------------------------------------- filters, keys, values

program=$programs/usdt
kl stat --json -e "usdt:$program:kltest:twice /arg1 > 0/ :hist(arg1 >> 40)" \
	-e "usdt:$program:kltest:reg* /arg6 == 5 && arg4 < 100/ :count by arg5 % 4" \
	-e "usdt:$program:kltest:moved :sum(arg1)" -e "usdt:$program:kltest:memory" -- "$program" run $n
expect "filters, keys and values" 0
json "a histogram over the locations of a marker" ".rules[0].entries | length == 1 and .[0].count == $((n / 2))"
json "a filter and a key" ".rules[1].entries | length == 4 and (map(.count) | add) == 99"
json "a sum" ".rules[2].entries[0] | .count == $n and .sum == $((n * (n + 1) / 2))"
json "a plain count" ".events | length == 1 and .[0].count == $n and (.[0].name | endswith(\":kltest:memory\"))"
kl record -q --force -o marked -e "usdt:$program:kltest:twice /arg1 < -190/" -- "$program" run $n
"$kernlens" print --format json marked | jq -s -c '[.[].fields.arg1]' >events
check "a filter decides what is recorded" test "$(<events)" = '[-191,-193,-195,-197,-199]'

# Two masksets have the same event, and switch between each other.
export XDG_CONFIG_HOME=$work/config
kl maskset create --force klusdt -e "usdt:$program:kltest:twice, usdt:$program:kltest:moved"
kl record -q --force -o marked -e "usdt:$program:kltest:twice /arg1 == -1/, usdt:$program:kltest:text :use(klusdt)" \
	-- "$program" run 3000
expect "masksets" 0
"$kernlens" print --format json marked | jq -s -c '[.[] | select(.event | endswith(":twice")).fields.arg1]' >events
check "with an event of several locations in both" jq -e '.[0] == -1 and .[-1] == 3000 * pow(2; 40) and length > 9' events
kl maskset delete klusdt

# ------------------------------------------------------------------------- semaphores

mkfifo hold
"$programs/usdt" watch <hold >values 2>/dev/null &
watched=$!
exec {hold}>hold
wait_until test -s values
kl list --names "usdt:$watched:*:guarded"
check "markers of a process" test "$(<"$work/out")" = "usdt:$programs/usdt:kltest:guarded"
check "a semaphore is 0 at first" test "$(<values)" = 0
kl record -q --force -o marked -a -e "usdt:$program:kltest:guarded" -- "$kernlens" stat -a -e \
	"usdt:$program:kltest:guarded" -- "$program" run 10
exec {hold}>&-
wait "$watched"
check "incremented while the event is used, in a process that runs already, and decremented again" \
	test "$(tr -d '\n' <values)" = 010
"$kernlens" print --format json marked | jq -s -c '[.[].fields.arg2] | unique' >events
check "in one that starts later, too" test "$(<events)" = '[1]'

# -------------------------------------------------------------------- stock programs

cat >called.py <<'END'
import gc, sys
for i in range(50):
    sys.audit("kl.event")
for i in (0, 2, 1, 2):
    gc.collect(i)
import kl_module
END
touch kl_module.py
kl record -q --force -o marked -e "usdt:$python:python:*" -v 'text=user((char *)arg1)' -- "$python" called.py
expect "python3" 0
"$kernlens" print --format json marked | jq -s -c 'map(.event |= split(":")[-1])' >events
check "its audit events, with their names" jq -e '[.[] | select(.event == "audit" and .fields.text == "kl.event")] | length == 50' events
check "its garbage collections, with their generations" jq -e '[.[] | select(.event == "gc__start").fields.arg1] |
	(tojson | contains("0,2,1,2")) and length >= 4' events
check "each of which ends" jq -e 'map(select(.event | startswith("gc__")).event) | . == [range(0; length) |
	["gc__start", "gc__done"][. % 2]]' events
check "its imports, with the module's name" jq -e '[.[] | select(.event | startswith("import__")) |
	select(.fields.text == "kl_module") | [.event, .fields.arg2]] ==
	[["import__find__load__start", null], ["import__find__load__done", 1]]' events
# Of 1 to 60, 28 are multiples of 3 or 5, and 4 of them are odd multiples of 5 only.
kl stat --json -e "usdt:$cpp:libstdcxx:*" -- "$programs/program-throw" 60
json "libstdc++: exceptions" '[.events[] | {(.name | split(":")[-1]): .count}] | add == {catch: 32, rethrow: 4, throw: 28}'

# ---------------------------------------------------------------------------- errors

kl record --force -o none -e "usdt:$program" -- true
expect "a path alone" 2
says err 'expected usdt:PATH:PROVIDER:NAME'
kl record --force -o none -e "usdt:$program:twice" -- true
says err 'usdt:PATH:\*:NAME'
kl record --force -o none -e "usdt:$program:kltest:twcie" -- true
expect "an unknown marker" 1
says err 'has no USDT marker kltest:twcie; did you mean kltest:twice\?'
kl record --force -o none -e "usdt:$program:*:z*" -- true
says err 'no USDT marker of .* matches "\*:z\*"'
kl record --force -o none -e usdt:/bin/sh:a:b -- true
says err '/bin/sh has no USDT markers'
kl record --force -o none -e usdt:/no/such/file:a:b -- true
says err 'No such file or directory'
kl stat -e "usdt:$program:kltest:floating :sum(arg1)" -- true
says err 'arg1 is a floating-point number'
kl stat -e "usdt:$program:kltest:floating /arg9/" -- true
says err 'unknown name "arg9"'
kl record -e "U:$program:kltest:twice" -o none -- true
says err "kernlens calls this usdt:$program:kltest:twice"
kl_nobody stat -e "usdt:$program:kltest:twice" -- "$program" run 1
expect "without privilege" 1
says err 'USDT markers need CAP_SYS_ADMIN and no kernel lockdown'
