# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: the page has what the other output of the same commands has.
# The data in pages of blocks, count and path: the blocks and edges of the listing, and the counts of
# the JSON result. tests/view opens pages in a browser.

# data_of PAGE: the data in it.
data_of() {
	sed -n 's|^<script id="[a-z]*" type="application/json">\(.*\)</script>$|\1|p' "$1"
}

# same TEXT FILTER FILE FILTER FILE: passes if the filters give equal values.
same() {
	check "$1" test "$(jq -c "$2" "$3")" = "$(jq -c "$4" "$5")" -a -n "$(jq -c "$2" "$3")"
}

bare='[.functions[] | del(.edges) | .blocks |= map(del(.count, .count_post, .uncounted))] | sort_by(.function)'

kl blocks --asm --json ksys_read vfs_read
cp "$work/out" listing.json
kl blocks --html page.html ksys_read vfs_read
expect "a page" 0
says err '^kernlens: page.html: [0-9.]+ MB$'
check "nothing else is printed" test ! -s "$work/out"
data_of page.html >page.json
same "has all blocks with their instructions" .functions page.json .functions listing.json
check "and loads nothing" grep -q "default-src 'none'" page.html

# Each read of dd is a call.
kl count --json -o count.json --html count.html -e block:ksys_read -e block:vfs_read#0 -- \
	dd if=/dev/zero of=/dev/null bs=1 count=1000
expect "count writes a page, too" 0
data_of count.html >page.json
same "with the blocks" "$bare" page.json ".functions | sort_by(.function)" listing.json
counts='[.functions[] | select(.function == "ksys_read").points[] | [.block, .count // .reason]]'
marks='[.functions[] | select(.function == "ksys_read").blocks[] | [.block, .count // .uncounted]]'
same "and the counts" "$marks" page.json "$counts" count.json
json "which are those of the calls" '[.functions[] | select(.function == "ksys_read").blocks[0].count][0] >= 1000 or
	[.functions[] | select(.function == "ksys_read").blocks[0].uncounted][0] != null' page.json
json "what was not counted has none" '[.functions[] | select(.function == "vfs_read").blocks[1:][] |
	select(has("count") or has("uncounted"))] == []' page.json
json "and says of what" '.about == "counts of all tasks during '"'dd if=/dev/zero of=/dev/null bs=1 count=1000'"'"' page.json

kl blocks --html later.html --counts count.json ksys_read vfs_read vfs_write
expect "a page with the counts of a file" 0
says err 'count.json: no counts of 1 of 3 functions'
data_of later.html >later.json
same "has the same counts" "$marks" later.json "$marks" page.json

kl path ksys_read --json -o path.json --html path.html -- dd if=/dev/zero of=/dev/null bs=1 count=500
expect "path writes a page, too" 0
data_of path.html >page.json
same "with the counts of edges" '.functions[0].edges' page.json .edges path.json
same "and of blocks" '[.functions[0].blocks[].count]' page.json '[.blocks[].count]' path.json

jq '.functions[].address = "0x1000"' count.json >boot.json
kl blocks --html boot.html --counts boot.json ksys_read
data_of boot.html >moved.json
json "counts of the same code at another address are shown" '[.functions[].blocks[].count] | any(. > 0)' moved.json
jq '.functions[].points[0].offset = 1' count.json >other.json
kl blocks --html other.html --counts other.json ksys_read
says err 'no counts of 1 of 1 functions' "counts of other code are not shown"
echo '{}' >other.json
kl blocks --html other.html --counts other.json ksys_read
expect "a file without counts" 1
says err 'not a result of kernlens count, path or coverage with --json'
kl blocks --html other.html --json ksys_read
expect "--html and --json" 2
kl blocks --counts count.json ksys_read
expect "--counts without --html" 2
kl blocks --html "$work/none/page.html" ksys_read
expect "a directory that is not there" 1

for name in a b; do
	kl coverage --functions 'vfs_*' --json -o "$name.json" --html "$name.html" -- ls "$work"
	expect "coverage writes a page, too" 0
	data_of "$name.html" >page.json
	same "with the functions" '[.runs[0].functions[] | del(.blocks, .n)]' page.json '[.functions[] | del(.blocks)]' "$name.json"
	same "and the blocks of those that ran" '[.runs[0].functions[] | select(.ran > 0).blocks]' page.json \
		'[.functions[] | select(.ran > 0).blocks]' "$name.json"
done
kl coverage --html diff.html --diff a.json b.json
expect "a page with two runs" 0
data_of diff.html >page.json
same "has both" '[.runs[] | [.functions[] | del(.blocks, .n)]][1]' page.json '[.functions[] | del(.blocks)]' b.json
kl coverage --json --html diff.html --diff a.json b.json
expect "--json and --html of a difference" 2
