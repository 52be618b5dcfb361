# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Marks from a shell.

cat >script <<END
"$kernlens" mark one mark
"$kernlens" mark --value 42 two
"$kernlens" mark --value -1
printf 'a\nb "c"\n\nlast' | "$kernlens" mark --value 7 -
"$kernlens" mark "$(printf 'x%.0s' {1..300})"
END
kl record -q -e mark -o marked -- bash script
expect "marks" 0
"$kernlens" print --format json marked >printed
check "with texts and numbers, in their order" jq -s -e \
	'[.[:7][].fields | [if .value > 1000 then -1 else .value end, .text]] == [[0, "one mark"], [42, "two"], [-1, ""], [7, "a"], [8, "b \"c\""], [9, ""], [10, "last"]]' printed
check "a negative one" grep -q '"value":18446744073709551615' printed
check "a long one is cut" jq -s -e '(.[7].fields.text | length) == 239' printed
kl_nobody record -q -e mark -o /dev/shm/marked -- "$kernlens" mark mine
expect "an ordinary user's" 0
kl print --format json /dev/shm/marked
json "in their own session" '.fields.text == "mine"'
rm -r /dev/shm/marked
(sleep 1; exec "$kernlens" mark of root) &
kl_nobody record -q -e mark -u 65534 -o /dev/shm/marked --duration 2
check "and not another's" test -z "$("$kernlens" print --format json /dev/shm/marked)"
rm -r /dev/shm/marked
wait
kl mark --value x text
expect "a wrong number" 2
