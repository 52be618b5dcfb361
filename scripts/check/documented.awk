# SPDX-License-Identifier: GPL-2.0
#
# Report what is missing in the comments of the functions that functions.pl lists; used by docs-api
# and docs-kernel.

function has(list, word) { return index("," list ",", "," word ",") > 0 }

{
	place = $1 ":" $2 ": " $5 "()"
	if ($8 != "kernel-doc") {
		print place " has no kernel-doc comment"
		next
	}
	if ($10 != $5)
		print place ": its comment does not begin with \"" $5 " - \""
	n = split($7, word, ",")
	for (i = 1; i <= n; i++)
		if (word[i] != "-" && !has($9, word[i]))
			print place ": parameter " word[i] " is not described"
	n = split($9, word, ",")
	for (i = 1; i <= n; i++)
		if (word[i] != "-" && !has($7, word[i]))
			print place ": there is no parameter " word[i]
}
