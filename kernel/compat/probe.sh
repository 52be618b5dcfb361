#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Asks the compiler what the kernel at hand has, instead of comparing version numbers.
# Fed by compat.mk with kbuild's own compiler command; writes the generated headers.
#
#   probe.sh config OUT PROBES_DIR -- CC FLAGS...
#	OUT defines KL_HAVE_X for each PROBES_DIR/x.c without an error (X is x in capitals), and
#	KL_NEW_x(...) and KL_OLD_x(...), its arguments with and without x.
#   probe.sh rows OUT EVENTS SOURCE -- CC FLAGS...
#	OUT defines KL_ROW_x(...) and KL_ROW_REASON_x for each row of EVENTS; SOURCE includes it.
#	KL_ARGUMENTS_x(data) is what hands on the arguments of row x's probe.
#
# All probes share one compile, and so do all rows: the compiler goes on after an error, and an
# error is charged to the probe's file or the row's lines. A second compile, without what failed,
# confirms the result; what only shows then (an error hidden by another) is taken away as well.

set -eu
export LC_ALL=C

die()
{
	echo "probe.sh: $*" >&2
	exit 1
}

mode=$1 out=$2
case $mode in
config) probes=$3; shift 4 ;;
rows) events=$3 source=$4; shift 5 ;;
*) die "unknown mode $mode" ;;
esac

work=$out.work.$$
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$work"

# gcc must not follow macros for an error's place: it would name the macro's own line.
if "$@" --version 2>/dev/null | grep -q clang; then
	all_errors='-ferror-limit=0 -fmacro-backtrace-limit=1'
else
	all_errors='-fmax-errors=0 -ftrack-macro-expansion=0 -fdiagnostics-plain-output'
fi

# Errors that the kernel's own flags may have made warnings of.
strict='-Werror=implicit-function-declaration -Werror=incompatible-pointer-types
	-Werror=int-conversion'

# compile FILE [FLAG...]: messages to $work/log; the compiler's verdict is in the messages.
compile()
{
	input=$1
	shift
	(
		while [ $# -gt 0 ] && [ "$1" != -- ]; do
			extra="${extra-} $1"
			shift
		done
		shift
		# shellcheck disable=SC2086
		"$@" $all_errors $strict ${extra-} -fsyntax-only -x c "$input"
	) >"$work/log" 2>&1 || :
}

# The messages when an error belongs to nothing that could be left out.
fail()
{
	grep -E 'error:' "$work/log" | head -n 20 >&2
	die "$1"
}

probe_config()
{
	for file in "$probes"/*.c; do
		[ -e "$file" ] || continue
		name=${file##*/}
		printf '%s\n' "${name%.c}"
	done >"$work/names"

	while read -r name; do
		printf '#include "%s/%s.c"\n' "$probes" "$name"
	done <"$work/names" >"$work/all.c"
	: >"$work/failed"
	for pass in 1 2 3 4 5 6 7 8 9; do
		compile "$work/all.c" -- "$@"
		grep -qE 'error:' "$work/log" || break
		[ "$pass" -lt 9 ] || fail "the probes that are left do not compile"
		awk '
			FNR == NR { name[$1] = 1; next }
			/error:/ {
				split($0, part, /\.c:[0-9]+/)
				n = split(part[1], path, "/")
				if (path[n] in name)
					print path[n]
			}' "$work/names" "$work/log" | sort -u >"$work/new"
		[ -s "$work/new" ] || fail "no probe can be charged with this"
		cat "$work/new" >>"$work/failed"
		while read -r name; do
			grep -qxF "$name" "$work/failed" ||
				printf '#include "%s/%s.c"\n' "$probes" "$name"
		done <"$work/names" >"$work/all.c"
	done

	awk '
		BEGIN { print "/* Made by compat/probe.sh. What this kernel has; see compat/probes. */" }
		FILENAME ~ /failed$/ { failed[$1] = 1; next }
		{
			has = !($1 in failed)
			if (has)
				print "#define KL_HAVE_" toupper($1) " 1"
			else
				print "/* KL_HAVE_" toupper($1) " is not set */"
			print "#define KL_NEW_" $1 "(...)" (has ? " __VA_ARGS__" : "")
			print "#define KL_OLD_" $1 "(...)" (has ? "" : " __VA_ARGS__")
		}' \
		"$work/failed" "$work/names" >"$work/out"
}

# Writes the header from the names (in order) and the reasons of those that failed.
write_rows()
{
	awk -F'\t' '
		BEGIN { print "/* Made by compat/probe.sh. Which rows of events.def this kernel has. */" }
		FILENAME ~ /failed$/ { if (!($1 in reason)) reason[$1] = $2; next }
		$1 in reason {
			print "#define KL_ROW_" $1 "(...)"
			print "#define KL_ROW_ABSENT_" $1 " \"" reason[$1] "\""
			print "#define KL_ROW_REASON_" $1 " \"" reason[$1] "\""
			next
		}
		{
			print "#define KL_ROW_" $1 "(...) __VA_ARGS__"
			print "#define KL_ROW_REASON_" $1 " \"\""
		}' "$work/failed" "$work/names" >"$work/out"
}

# Appends to the header what calls a function with the arguments that a row's probe has got: the last
# word of each, once the preprocessor has chosen between the forms of old and new kernels.
write_arguments()
{
	cat >"$work/arguments.c" <<-EOT
		#include "compat/prototypes.h"
		#define KL_TP(tracepoint, ...) __VA_ARGS__
		#define KL_FN(function, ...) __VA_ARGS__
		#define KL_OWN(...) __VA_ARGS__
		#define KL_EVENT(id, name, group, set, help, source, ...) @ name | source @
		#include "events.def"
	EOT
	"$@" -E -P -x c "$work/arguments.c" >"$work/prototypes" || die "cannot expand $events"
	tr '\n' ' ' <"$work/prototypes" | awk '
		BEGIN { RS = "@" }
		split($0, row, "|") == 2 {
			gsub(/[ \t]/, "", row[1])
			# An argument that is a function: what follows its name has commas of its own.
			gsub(/\)[ \t]*\([^()]*\)/, "", row[2])
			n = split(row[2], argument, ",")
			names = ""
			for (i = 1; i <= n; i++)
				if (match(argument[i], /[A-Za-z_][A-Za-z_0-9]*(\[[^]]*\])?[ \t]*$/)) {
					name = substr(argument[i], RSTART)
					sub(/[^A-Za-z_0-9].*/, "", name)
					names = names ", " name
				}
			print "#define KL_ARGUMENTS_" row[1] "(data) data" names
		}' >>"$work/out"
}

probe_rows()
{
	# A row begins with KL_EVENT( in the first column and reaches to the next one.
	awk '/^KL_EVENT\(/ {
		split($0, argument, /[(,]/)
		gsub(/[ \t]/, "", argument[3])
		print argument[3] "\t" FNR
	}' "$events" >"$work/names"
	[ -s "$work/names" ] || die "no rows in $events"
	base=${events##*/}
	: >"$work/failed"
	for pass in 1 2 3 4 5 6 7 8 9; do
		write_rows
		compile "$source" -include "$work/out" -- "$@"
		grep -qE 'error:' "$work/log" || break
		[ "$pass" -lt 9 ] || fail "the rows that are left do not compile"
		awk -F'\t' -v base="$base" '
			FNR == NR { name[++rows] = $1; line[rows] = $2; next }
			{ split($0, part, ": (fatal )?error: ") }
			part[2] == "" { next }
			{
				n = split(part[1], place, ":")
				at = 0
				for (i = 2; i <= n && !at; i++)
					if (place[i] ~ /^[0-9]+$/)
						at = place[i]
				m = split(place[1], path, "/")
				if (path[m] != base || at < line[1])
					next
				for (row = rows; line[row] > at; row--)
					;
				if (!(row in reason))
					reason[row] = part[2]
			}
			END {
				for (row = 1; row <= rows; row++)
					if (row in reason)
						print name[row] "\t" plain(reason[row])
			}
			function plain(text)
			{
				sub(/;.*/, "", text)
				sub(/ \[-W[^]]*\]$/, "", text)
				gsub(/["\\\t]/, " ", text)
				gsub(/\140/, "\047", text)
				if (text ~ /check_trace_callback_type_/) {
					if (text ~ /implicit|undeclared/)
						return "the kernel headers have no such tracepoint"
					return "the kernel has this tracepoint with other arguments"
				}
				return substr(text, 1, 150)
			}' "$work/names" "$work/log" >"$work/new"
		[ -s "$work/new" ] || fail "no row can be charged with this"
		cat "$work/new" >>"$work/failed"
	done
	write_arguments "$@"
}

"probe_$mode" "$@"
mv -f "$work/out" "$out"
