# shellcheck shell=bash disable=SC2154,SC2016,SC2012
# SPDX-License-Identifier: GPL-2.0
# /proc/kernlens: values compared with /proc/PID, order, access control, and unloading.

sleep 300 &
one=$!
sleep 0.5
cat /proc/kernlens/figures >figures
# Memory counters lag by some pages per CPU.
awk '/^VmRSS/ { rss = $2 * 1024 } END { print rss }' /proc/$one/status >rss
check "memory in RAM is that of /proc/PID/status" \
	awk -v id=$one -v rss="$(<rss)" '$1 == id ".rss" { found = $2 > rss - 1048576 && $2 < rss + 1048576 && $2 > 0 } END { exit !found }' figures
awk '/^VmSize/ { size = $2 * 1024 } /^Threads/ { threads = $2 } /^PPid/ { ppid = $2 }
	/^voluntary/ { nvcsw = $2 } END { print size, threads, ppid, nvcsw }' /proc/$one/status >status
awk -v id=$one '{ v[$1] = $2 } END { p = id "."; print v[p "vm_size"], v[p "threads"], v[p "ppid"], v[p "nvcsw"] }' figures >shown
check "figures are those of /proc/PID/status" cmp shown status
stat=$(cut -d' ' -f3,10,12,19 /proc/$one/stat)
check "and of /proc/PID/stat" test "$(awk -v id=$one '{ v[$1] = $2 } END { p = id "."; print v[p "state"], v[p "min_faults"], v[p "maj_faults"], v[p "nice"] }' figures)" = "$stat"
check "a line is PID.NAME VALUE" test -z "$(grep -Ev '^([0-9]+|machine)\.[a-z_0-9]+ .+$' figures)"
check "the name, too" grep -qx "$one.comm sleep" figures
check "and the time of the look" grep -Eq '^machine.monotonic_ns [0-9]+$' figures

cat /proc/kernlens/processes >table
ls -d /proc/[0-9]* | wc -l >number
# The table includes cat; the count includes ls and wc instead.
check "the table has all processes" test $(($(wc -l <table) - 1 - $(<number))) -ge -3 -a $(($(wc -l <table) - 1 - $(<number))) -le 3
check "with a heading" grep -Eq '^ *pid +uid +state .* comm$' table
for list in top_memory:rss top_faults:maj_faults top_cpu:cpu_time; do
	cat /proc/kernlens/${list%:*} >top
	column=$(head -n 1 top | tr -s ' ' '\n' | sed '/^$/d' | grep -nx "${list#*:}" | cut -d: -f1)
	awk -v c="$column" 'NR > 1 { print $c }' top >by
	check "${list%:*} is in descending order" sort -C -n -r by
	check "and begins with the most of all" test "$(head -n 1 by)" -gt 0
done
awk 'NR > 1 { print $11 + $12 }' /proc/kernlens/top_io >by
check "top_io goes by reading and writing" sort -C -n -r by
echo 10 >/sys/module/kernlens/parameters/top_rows
check "as many rows as the parameter says" test "$(wc -l </proc/kernlens/top_memory)" -eq 11
sort -k7,7nr <(tail -n +2 /proc/kernlens/processes) | awk 'NR == 1 { print $1 }' >first
check "the first is the first of all" test "$(awk 'NR == 2 { print $1 }' /proc/kernlens/top_memory)" = "$(<first)"
echo 5 >/sys/module/kernlens/parameters/top_rows
check "10 at least" test "$(wc -l </proc/kernlens/top_memory)" -eq 11
echo 100 >/sys/module/kernlens/parameters/top_rows

# Process names that would break a line.
name=$work/$'a\nb'
cp "$(command -v sleep)" "$name"
"$name" 300 &
odd=$!
sleep 0.5
check "a newline in a name is none in the file" grep -qFx "$odd.comm a\\nb" /proc/kernlens/figures
kill $odd

nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all -- "$@"; }
nobody cat /proc/kernlens/processes >table
check "an ordinary user sees own processes only" test "$(awk 'NR > 1 { print $2, $NF }' table)" = '65534 cat'
nobody cat /proc/kernlens/figures >figures
check "figures, too" test "$(grep -c '\.pid ' figures)" -eq 1
for file in top_memory top_faults top_cpu top_io; do
	check "$file, too" test "$(nobody cat /proc/kernlens/$file | wc -l)" -eq 2
done
# What a descriptor shows depends on its opener, not on its reader.
exec 8</proc/kernlens/processes
check "a descriptor shows what its opener saw" test "$(nobody cat <&8 | wc -l)" -gt 10
exec 8<&-

# Another PID namespace: its own ids.
unshare --pid --fork --mount-proc cat /proc/kernlens/processes >table
check "in a pid namespace, its processes by its ids" test "$(awk 'NR > 1 { print $1, $NF }' table)" = '1 cat'

# Many readers at once, in small pieces, while processes come and go.
readers=()
for _ in 1 2 3 4; do
	(for _ in 1 2 3 4 5; do dd if=/proc/kernlens/figures bs=7 status=none | grep -Evc '^([0-9]+|machine)\.[a-z_0-9]+ .+$'; done) >>pieces &
	readers+=($!)
done
for _ in {1..40}; do /bin/true; done
wait "${readers[@]}"
check "reading in small pieces gives whole lines" test "$(sort -u pieces)" = 0
kill $one

exec 8</proc/kernlens/figures
read -r -u 8 _
check "the module can be unloaded while a file is open" rmmod kernlens
check "which cannot be read any more" bash -c '! cat <&8 | grep .' 8<&8
exec 8<&-
check "and the folder is gone" test ! -e /proc/kernlens
check "and loaded again" load_kernlens
check "with its files" test "$(wc -l </proc/kernlens/top_cpu)" -gt 1
