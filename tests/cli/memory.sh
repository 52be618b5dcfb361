# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# kernlens memory: pages of all kinds against smaps, pagemap, kpagecount and kpageflags.

# Memory that is written, swapped out, merged and huge.
mem() { python3 "$here/memory.py" "$@"; }
modprobe brd rd_nr=1 rd_size=65536
wait_until test -b /dev/ram0
mkswap -q /dev/ram0
swapon /dev/ram0
echo 2 >/proc/sys/vm/nr_hugepages
echo 1 >/sys/kernel/mm/ksm/run
# The kernel's sampling of accesses makes pages referenced in a way that kpageflags does not show.
damon=/sys/module/damon_stat/parameters/enabled
[[ ! -e $damon ]] || damon_before=$(<$damon)
[[ ! -e $damon ]] || echo N >$damon
# khugepaged would join pages of processes that are stopped.
thp=/sys/kernel/mm/transparent_hugepage/enabled
thp_before=$(grep -o '\[.*\]' $thp | tr -d '[]')
echo madvise >$thp
# alone PROGRAM ARGUMENT...: runs a copy of a program with copies of its libraries, whose pages
# the programs that look at it do not map.
as=()
alone() {
	local program=$1 folder
	shift
	folder=$(mktemp -d)
	cp -L "$(command -v "$program")" "$folder/$program"
	ldd "$folder/$program" | grep -oE '/[^ ]+' | xargs -r cp -L -t "$folder"
	# Python loads this one later, and kernlens may have it, too.
	cp -L /usr/lib/x86_64-linux-gnu/libffi.so.* "$folder"
	mv "$folder/ld-linux-x86-64.so.2" "$folder/alone"
	chmod 755 "$folder"
	exec env LC_ALL=C "${as[@]}" "$folder/alone" --library-path "$folder" "$folder/$program" "$@"
}
# settled PID: has it stopped growing?
settled() {
	local before
	before=$(grep VmRSS "/proc/$1/status")
	sleep 0.5
	[[ $before == "$(grep VmRSS "/proc/$1/status")" ]]
}
# stop PID NAME: stops a process once it executes a program, and has started.
stop() {
	wait_until grep -qx "$2" "/proc/$1/comm"
	wait_until settled "$1"
	kill -STOP "$1"
	wait_until grep -q '^State:.T' "/proc/$1/status"
}
alone python3 "$here/memory.py" scene "$work/file" >scene.out &
scene=$!
wait_until grep -qE '^[0-9]+ [0-9]+$' scene.out
read -r parent child < <(grep -E '^[0-9]+ [0-9]+$' scene.out)
echo 0 >/sys/kernel/mm/ksm/run
kill -STOP "$parent" "$child"
sleep 0.5

# copy_proc PID: what is compared with, by a program that maps no page of the process, as Python may.
copy_proc() {
	local name
	for name in "$1/smaps" kpagecount kpageflags; do
		cat "/proc/$name" >"proc.${name##*/}"
	done
}
# against PID [STATE...]: compares all that is known about the pages of a process that is stopped.
against() {
	kl memory "$1" --json --pages
	expect "memory of $(cat "/proc/$1/comm")" 0
	copy_proc "$1"
	mem compare out "$@" >compare.out
	tap "$(cat "/proc/$1/comm")" compare.out
}
against "$parent" swapped zero anon swapbacked hugetlb writable written accessed soft_dirty dirty \
	referenced uptodate lru unevictable mlocked ksm
json "huge pages, as mapped" '[.pages[] | select(.map_order == 9).pages] | add >= 2048'
json "each kind of sum is there" '.total | .anonhugepages > 0 and .swap > 0 and .lazyfree > 0 and
	.shared_dirty > 0 and .private_clean > 0 and .shmem > 0 and .zero > 0 and
	(.private_hugetlb > 0 or .shared_hugetlb > 0)'
json "zones and nodes add up to what is in RAM" '(.total | .rss + .private_hugetlb + .shared_hugetlb) as $all |
	([.zones[]] | add) == $all and ([.nodes[]] | add) == $all'
against "$child" anon

# The same process drawn, as physical ranges, and in a page.
pages_of() { python3 "$here/memory_page.py" "$@" >page.tap; }
kl memory "$parent" --map
expect "drawn" 0
copy_proc "$parent"
pages_of drawing out "$parent"
tap "drawing" page.tap
says out '^Physical memory, [0-9]+ [KMG]iB a character' "physical memory"
says out '^ *[0-9a-f]+  [.1-9#]{64}$' "a line of it"
says out '^[0-9]+ contiguous ranges$' "their number"
says out '^[0-9a-f]+-[0-9a-f]+ +[0-9.]+ [KM]iB +[0-9]+ +(DMA|DMA32|Normal|Movable)' "a range"
kl memory "$parent" --map --json
pages_of ranges out "$parent"
tap "ranges" page.tap
kl memory "$parent" --html page.html --shared
expect "a page" 0
says err '^kernlens: page.html: [0-9.]+ MB$' "its size"
check "nothing is printed" test ! -s "$work/out"
check "only its owner may read it" test "$(stat -c %a page.html)" = 600
check "it loads nothing" grep -q "default-src 'none'" page.html
kl memory "$parent" --json --pages --shared
pages_of page page.html out
tap "page" page.tap

# Programs that are not ours: Go, with large mappings that have no pages; a shell; init.
mkfifo fifo
gojq . fifo &
program=$!
exec {hold}>fifo
stop $program gojq
against $program anon
exec {hold}>&-
kill -9 $program
alone sleep 100 &
program=$!
stop $program alone
against $program anon
kill -9 $program

# For people.
kl memory "$parent"
expect "as text" 0
says out "^alone-$parent: [0-9.]+ MiB in RAM, of which [0-9.]+ MiB is private; its share of all is [0-9.]+ MiB; [0-9.]+ MiB is swapped out$" "the sums"
says out '^  kinds       anonymous [0-9.]+ MiB, files [0-9.]+ [KM]iB, shared memory [0-9.]+ MiB, hugetlb 4.0 MiB, freed lazily 1.0 MiB$' "by kind"
says out '^address +mode +size +in RAM +its share +private +written +referenced +huge +swapped +name *$' "the table has a head"
says out '^[0-9a-f]+-[0-9a-f]+ +r-xp .*/python3' "a mapping"
silent out ' 1.0 TiB ' "mappings without memory are left out"
kl memory "$parent" --top 3
check "only the largest" test "$(grep -cE '^[0-9a-f]+-[0-9a-f]+ ' out)" -eq 3
kl memory "$parent" --csv
check "CSV has all mappings" test "$(($(wc -l <out) - 1))" -eq "$(grep -cv '\[vsyscall\]' "/proc/$parent/maps")"
check "and their sizes" test "$(awk -F, 'NR > 1 { sum += $4 } END { print sum }' out)" -gt $((20 << 20))
kl memory "$parent" --pages --top 5
says out '^ *address +pages +mappings +frame +node +zone +unit +state' "runs of pages"
kl memory "$parent" --physical
says out '^[0-9]+ contiguous ranges of physical memory, by length$' "contiguity"

# Who shares pages: the child does, by as much as pagemap has of both.
kl memory "$parent" --json --shared
common=$(python3 - "$parent" "$child" <<'END'
import re, struct, sys
def frames(pid):
    found, start, end = set(), 0, 0
    with open(f"/proc/{pid}/pagemap", "rb", 0) as pagemap:
        for line in open(f"/proc/{pid}/smaps"):
            if re.match("[0-9a-f]+-", line):
                start, end = (int(x, 16) for x in line.split()[0].split("-"))
            # Some kernels map the clock's data as memory without pages.
            if not line.startswith("VmFlags:") or {"pf", "io"} & set(line.split()):
                continue
            if start >= 1 << 47 or end - start > 1 << 36:
                continue
            pagemap.seek(start // 512)
            data = pagemap.read((end - start) // 512)
            found |= {e & (1 << 55) - 1 for (e,) in struct.iter_unpack("Q", data) if e >> 63}
    return found
zero = {e for e in frames(sys.argv[1]) if (open("/proc/kpageflags", "rb", 0).seek(0), 0)[1]}
with open("/proc/kpageflags", "rb", 0) as flags:
    def is_zero(frame):
        flags.seek(frame * 8)
        return struct.unpack("Q", flags.read(8))[0] >> 24 & 1
    print(4096 * sum(not is_zero(f) for f in frames(sys.argv[1]) & frames(sys.argv[2])))
END
)
json "the child shares $common bytes" ".sharers[0].pid == $child and .sharers[0].bytes == $common"
kl memory "$parent" --shared --top 1
says out "^ *[0-9.]+ MiB +$child +alone" "its row"

# An ordinary user: own processes, without physical addresses and what others do to a page.
as=(setpriv --reuid 65534 --regid 65534 --clear-groups --)
alone sleep 100 &
mine=$!
as=()
stop $mine alone
kl memory $mine --json --pages
cp out root.json
kl_nobody memory $mine --json --pages
expect "an ordinary user's own process" 0
check "the same sums" test "$(jq -c '.total, .mappings' out)" = "$(jq -c '.total, .mappings' root.json)"
json "no physical addresses" 'all(.pages[]; has("frame") | not)'
json "of a shared page no more than smaps has" '[.pages[] | select((.mappings // 1) > 1)] |
	length > 0 and all(.[]; .state - ["anon", "swapbacked", "writable", "written", "accessed",
	"soft_dirty", "dirty", "referenced", "hugetlb"] == [])'
kl_nobody memory "$parent"
expect "another user's is not there" 1
says err "^kernlens: process $parent does not exist$" "as if it did not exist"
kl_nobody memory $mine --physical
expect "nor are physical addresses" 1
says err 'physical addresses require CAP_SYS_ADMIN' "with the reason"
kl_nobody memory $mine --map --json
json "nor which of them are contiguous" '.ranges == null'
kl_nobody memory $mine --map
expect "pages can be drawn" 0
says out '^[0-9a-f]+ +[0-9]+ KiB  [.a-zA-Z]+ +.*/alone' "those of a mapping, in which"
says out '^Where these pages are in physical memory requires CAP_SYS_ADMIN' "the other part is missing"
silent out 'contiguous' "nothing about contiguity"
pages=$(mktemp -d)
chmod 777 "$pages"
kl_nobody memory $mine --html "$pages/mine.html"
expect "and a page be written" 0
kl_nobody memory $mine --json --pages
pages_of page "$pages/mine.html" out
tap "own page" page.tap
check "without physical addresses" test "$(sed -n 's|^<script id="memory" type="application/json">\(.*\)</script>$|\1|p' "$pages/mine.html" |
	jq '.process | .ranges == null and all(.runs[]; length < 9)')" = true
kl_nobody memory "$parent" --html "$pages/theirs.html"
expect "but not of another user's" 1
check "of which there is no page" test ! -e "$pages/theirs.html"
kl_nobody memory $mine --shared --json
json "others that share its pages are not listed" 'all(.sharers[]; .comm == "kernlens")'
kill -9 $mine

# What changes.
mem grow "$work/step" >grow.out &
wait_until test -s grow.out
growing=$(<grow.out)
"$kernlens" memory "$growing" --watch=0.3 --json --no-pager >watch.out 2>watch.err &
watching=$!
wait_until test -s watch.out
for step in 1 2 3 4; do
	touch "step.$step"
	wait_until test -e "step.$step.done"
	sleep 2
done
kill -INT $watching
wait_until test ! -e "/proc/$watching"
changed() { jq -s "[.[].changes[] | .$1] | add" watch.out; }
check "8 MiB have arrived" test "$(changed arrived)" -ge $((8 << 20)) -a "$(changed arrived)" -lt $((9 << 20))
check "4 MiB were swapped out" test "$(changed swapped_out)" -eq $((4 << 20))
check "2 MiB came back" test "$(changed swapped_in)" -eq $((2 << 20))
check "all have gone" test "$(changed gone)" -ge $((8 << 20)) -a "$(changed gone)" -lt $((9 << 20))
kl memory "$growing" --watch=0.2 --top 1 &
watching=$!
sleep 2
kill -9 "$growing"
check "it ends with the process" wait_until grep -q 'has ended' err
kill $watching 2>/dev/null
says out '^  no change$' "nothing happens"
says err "process $growing has ended" "until it ends"

# The same while it is recorded, for a page with the reads and the page faults.
mem grow "$work/again" >again.out &
wait_until test -s again.out
growing=$(<again.out)
"$kernlens" memory -p "$growing" --name watched --watch=0.3 --html watched.html >watch.out 2>watch.err &
watching=$!
wait_until bash -c '"$0" status --json | jq -e ".sessions[] | select(.name == \"watched\").running"' "$kernlens"
# The first read follows.
sleep 2
for step in 1 2 3 4; do
	touch "again.$step"
	wait_until test -e "again.$step.done"
	sleep 2
done
kill -INT $watching
wait $watching
check "a page of what was recorded" test $? -eq 0
pages_of history watched.html
tap "history" page.tap
kl memory "$growing" --watch=0.2 --duration 1 --html short.html
expect "watching for a time" 0
says out '^  no change$' "shows changes"
check "then writes a page" test "$(sed -n 's|^<script id="memory" type="application/json">\(.*\)</script>$|\1|p' short.html |
	jq '.history.reads >= 2 and .growth == null and .process.comm == "python3"')" = true
kill -9 "$growing"

# Which code touches memory, gives it back and keeps it.
program=$here/../../build/tests/cli/memory-growth
# of FUNCTION MEMBER [ROWS]: the sum of a member of rows in whose stack traces the function is.
of() {
	jq "[.${3:-rows}[] | select(any(.frames[]?; .symbol == \"$1\")) | .$2] | add // 0" out
}
# near NUMBER MIB: at most 100 KiB more.
near() {
	test "$1" -ge $(($2 << 20)) -a "$1" -le $((($2 << 20) + 102400))
}
growth() {
	check "malloc: 6 of 8 MiB are kept" near "$(of leak_some kept)" 6
	check "and at least 7 were touched" test "$(of leak_some touched)" -ge $((7 << 20))
	check "munmap: 4 MiB touched" near "$(of give_back touched)" 4
	check "none of them kept" test "$(of give_back kept)" -eq 0
	check "given back by the same function" test "$(of give_back freed freeing)" -eq $((4 << 20))
	check "madvise and mremap: 6 MiB touched" near "$(of drop_and_move touched)" 6
	check "2 of them kept" near "$(of drop_and_move kept)" 2
	check "4 given back" test "$(of drop_and_move freed freeing)" -eq $((4 << 20))
	check "a huge page" near "$(of use_huge_page kept)" 2
	json "what came is kept or given back" '.touched == .kept + .freed and
		([.rows[].touched] | add) == .touched and ([.rows[].kept] | add) == .kept'
	json "the oldest is older than the pause" '[.rows[].oldest_ns] | max > 3e8'
	json "sums over time" '. as $all | .history | [(.touched, .freed, .kept) | add] ==
		[$all | .touched, .freed, .kept] and (.touched | length) <= 64'
	json "the huge page came in the last part" '.history | .kept[(.kept | length) / 2 | floor:] | add >= 2097152'
}
kl memory --json --by stack --top 0 -o grown -- "$program"
expect "a program that keeps memory" 0
growth
check "a read: 2 MiB" near "$(of read_into kept)" 2
faults=$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:]); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt)' "$program")
json "as many page faults as the kernel counts ($faults)" ".faults > $faults * 0.97 and .faults < $faults * 1.03"
kl memory -i grown --json --by stack --top 0
growth
kl memory -i grown
expect "by function" 0
says out '^[0-9,]+ page faults brought [0-9.]+ MiB: [0-9.]+ MiB kept, [0-9.]+ MiB given back$' "the sums"
says out '^ *6\.[0-9] MiB +[0-9.]+ MiB +[0-9.]+ MiB +[0-9,]+ +[0-9.]+ m?s +[0-9.]+ m?s +leak_some +memory-growth +memory-growth-[0-9]+$' "who keeps memory"
says out '^ *from +touched +given back +there then +kept *$' "over time"
says out '^ *4\.0 MiB +1 +give_back +memory-growth +memory-growth-[0-9]+$' "who gives it back"
kl memory -i grown --html grown.html
expect "as a page" 0
check "with the same sums" test "$(sed -n 's|^<script id="memory" type="application/json">\(.*\)</script>$|\1|p' grown.html |
	jq -c '[.process, (.growth | .touched, .kept, .freed)]')" = \
	"$("$kernlens" memory -i grown --json | jq -c '[null, .touched, .kept, .freed]')"
kl memory -i grown --by stack --top 1
says out '^6\.[0-9] MiB kept of [0-9.]+ MiB touched in [0-9,]+ page faults by memory-growth-[0-9]+:$' "a stack trace"
kl memory -i grown --by process --json
json "by process" '.rows | length == 1 and .[0].comm == "memory-growth"'
kl_nobody memory --json --by stack --top 0 -- "$program"
expect "an ordinary user's program" 0
growth
check "what the kernel touches is not theirs to see" test "$(of read_into kept)" -eq 0
kl_nobody memory --watch=0.05 --html "$pages/own.html" -- "$program"
expect "and a page of it" 0
check "which has its growth and its pages, without physical addresses" test "$(
	sed -n 's|^<script id="memory" type="application/json">\(.*\)</script>$|\1|p' "$pages/own.html" |
		jq '(.growth.kept > 8e6) and (.process.comm == "memory-growth") and (.process.ranges == null) and
			all(.process.runs[]; length < 9)'
)" = true
kl record -o other -e sched_switch -- true
kl memory -i other
expect "a trace without page faults" 1
says err 'has none of x86_exceptions_page_fault_user; record with kernlens memory -o TRACE' "is not enough"
kl memory --watch --pages -- true
expect "options of the two kinds" 2

# Growth by code while the process runs, which an ordinary user can see of own processes.
mkfifo steps
# is_growing: waits until $growing executes the program; before that, it is this shell, which is root's.
is_growing() {
	wait_until grep -qx memory-growth "/proc/$growing/comm"
}
# has_begun FILE: waits for the output of $watching. On a busy machine, that takes a while.
has_begun() {
	local -i n
	for ((n = 0; n < 9; n++)); do
		wait_until test -s "$1" && return
		kill -0 $watching || break
	done
	cat live.err
	return 1
}
setpriv --reuid 65534 --regid 65534 --clear-groups -- "$program" slowly <steps >steps.out &
growing=$!
exec 8>steps
check "a program is ready to grow" is_growing
setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all -- "$kernlens" memory \
	"$growing" --watch=0.3 --by stack --top 0 --json --name live >live.out 2>live.err 8>&- &
watching=$!
check "the first document comes when the session has begun" has_begun live.out
for step in 1 2 3; do
	echo >&8
	wait_until grep -qx $step steps.out
	sleep 2
done
kill -INT $watching
ended=0
wait $watching || ended=$?
cp live.err err
check "it ends when the user says so" test $ended -eq 0
# The last document but one was written while the process ran. Before Linux 6.2, the kernel counts up
# to 64 pages late.
jq -s '.[-2]' live.out >out
kept=$(of leak_some kept)
check "while it runs: 6 of 8 MiB are kept ($kept bytes)" test $((kept - (6 << 20))) -ge -262144 -a $((kept - (6 << 20))) -le 262144
check "given back by its function" test "$(of give_back freed freeing)" -eq $((8 << 20))
json "with its age" '[.rows[] | select(.kept > 6e6).oldest_ns] | max > 3e9'
json "nothing is new when nothing happens" '([.rows[] | .new_touched, .new_freed, .new_events] | add) == 0'
# new FUNCTION MEMBER ROWS: the sum of what was new, of all intervals.
new() {
	jq -s "[.[].$3[] | select(any(.frames[]?; .symbol == \"$1\")) | .$2] | add // 0" live.out
}
cp live.out out
check "each interval has its part" test "$(new give_back new_touched rows)" -ge $((8 << 20))
check "and what was given back in it" test "$(new give_back new_freed freeing)" -eq $((8 << 20))
check "in two of them" test "$(jq -s '[.[] | select(any(.freeing[]; .new_freed >= 4194304))] | length' live.out)" -eq 2
check "the parts are the whole" test "$(jq -s '[.[].rows[].new_touched] | add' live.out)" -eq \
	"$(jq -s '.[-1].touched' live.out)"
check "in each, what came is kept or given back" jq -e -s 'length > 10 and all(.[]; .touched == .kept + .freed and
	([.rows[].kept] | add // 0) == .kept and ([.history.kept[]] | add // 0) == .kept)' live.out
"$kernlens" memory -p "$growing" --watch=0.2 --no-pager --name again >second.out 2>live.err 8>&- &
watching=$!
check "so does the first table" has_begun second.out
echo >&8
wait_until grep -qx 4 steps.out
sleep 1
exec 8>&-
check "it ends with the process" wait_until test ! -e "/proc/$watching"
wait $watching
check "without an error" test $? -eq 0
cp second.out out
cp live.err err
says out '^ *new +gone +kept +touched +given back +page faults +mean age +oldest +function' "a table"
# The RSS may grow by a few pages that are not of the region: these are kept.
says out '^ *(0|[0-9.]+ [KM]iB) +4\.0 MiB +(0|[0-9.]+ KiB) +4\.[01] MiB +4\.0 MiB +[0-9,]+ .*give_back +memory-growth' "with what is new"
kl memory --watch=0.2 --by process --json -- "$program"
expect "watching a command" 0
check "by process" jq -e -s '.[-1].rows | length == 1 and .[0].comm == "memory-growth" and .[0].kept > 8e6' "$work/out"
page_growth() {
	sed -n 's|^<script id="memory" type="application/json">\(.*\)</script>$|\1|p' live.html | jq -e "$1"
}
exec 8<>steps
"$program" slowly <steps >steps.out 8>&- &
growing=$!
check "another is ready" is_growing
"$kernlens" memory "$growing" --watch=0.3 --by function --name page --html live.html >live.out 2>live.err 8>&- &
watching=$!
check "a page is written at once" has_begun live.html
echo >&8
wait_until grep -qx 1 steps.out
check "a page is written while it runs" wait_until page_growth '.growth.kept > 6e6 and .process.pid > 0'
kill -INT $watching
wait $watching
check "and at the end" page_growth '(.growth.kept > 6e6) and (.history.reads > 1) and
	any(.growth.functions[]; .function == "leak_some" and .kept > 6e6)'
check "which is said" grep -q 'live.html: [0-9.]* MB' live.err
check "nothing is left beside it" test ! -e live.html.part
kill $growing
exec 8>&-
kl memory 1 --watch --by stack -o there
expect "--watch keeps no trace" 2
kl memory 1 --by stack
expect "the other way round" 2
kl memory --by line -- true
expect "no such key" 2

kl memory 999999999
expect "no such process" 1
kl memory 2 --json
json "a kernel thread has no memory" '.total.rss == 0 and .mappings == []'
kl memory
expect "no process" 2
kl memory one
check "anything but a number is a command" test "$status" -eq 127
kl memory 1 --csv --json
expect "two formats" 2
kl memory 1 --html page.html --json
expect "a page and JSON" 2
kl memory 1 --html page.html --map
expect "a page has all" 2
kl memory 1 --html none/page.html
expect "no such directory" 1
kl memory 1 --duration 3
expect "--duration without --watch" 2
kl memory -i grown --watch --html page.html
expect "--watch of a trace" 2

kill -9 "$child" "$parent"
wait $scene 2>/dev/null
swapoff /dev/ram0
echo 0 >/proc/sys/vm/nr_hugepages
echo "$thp_before" >$thp
[[ ! -e $damon ]] || echo "$damon_before" >$damon
