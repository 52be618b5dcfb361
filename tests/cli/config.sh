# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Configuration files: precedence, errors with their place, hostile content, and files that others
# can change.

unset KERNLENS_CONFIG
export XDG_CONFIG_HOME=$work/home
own=$XDG_CONFIG_HOME/kernlens/config system=/etc/kernlens.conf
mkdir -p "${own%/*}"
rm -f "$system"

# config FILE LINE...: writes the lines to the file.
config() {
	printf '%s\n' "${@:2}" >"$1"
	chmod 644 "$1"
}

# fails PATTERN CARET [ARGUMENT...]: a command fails with status 2, a message that matches, and a
# caret below the text that begins with CARET.
fails() {
	kl "${@:3}"
	check "status 2 and: $1" bash -c '
		[[ $1 == 2 ]] && grep -Eq -- "$2" "$4" || exit
		[[ $3 ]] || exit 0
		caret=$(grep -nE "^[[:space:]]*\^$" "$4") line=$(sed -n "$((${caret%%:*} - 1))p" "$4")
		before=${caret#*:} && before=${before%^}
		[[ ${line:${#before}} == "$3"* ]]' - "$status" "$1" "$2" "$work/err"
}

kl record -q -o t -e sched_process_exec,mark -- sh -c '/bin/true; /bin/true'
expect "no file is no error" 0
kl doctor --json
json "doctor: no file" '.checks[] | select(.name == "config") | .state == "ok" and (.text | test("no options"))'

# Precedence.
config "$system" '# for everybody' '' 'time = wall' '[print]' 'format = csv' 'event = mark'
kl print t
says out '^time_ns,' "the system's file presets an option"
silent out 'sched_process_exec' "and an event"
kl print t --format text
check "and the command line wins" test ! -s "$work/out"
kl print t -e sched_process_exec
check "a list on the command line replaces the file's" test "$(grep -c ',sched_process_exec,' "$work/out")" -eq 3
config "$own" '[print]' 'event = sched_process_exec' 'event = mark' 'format = text'
kl print t
says out '^\[1[0-9]{9}\..* sched_process_exec:' "the user's file wins over the system's, whose other options stay"
config "$own" 'json = yes'
kl print t -e sched_process_exec
check "what excludes an option replaces it" jq -e -s 'length == 3' "$work/out"
kl print t -e sched_process_exec --format text
says out '^\[1' "on the command line, too"
kl --json print t -e sched_process_exec
check "an option before the subcommand counts" jq -e -s 'length == 3' "$work/out"
config "$own" '[print]' 'json = no' '[stat]' 'json'
rm "$system"
kl stat -e sched_switch -- true
is_json "a name alone is yes, for its section"
kl print t
says out '^\[' "and no is no"
kl stat --no-config -e sched_switch -- true
says err 'time elapsed' "--no-config"
kl --no-config stat -e sched_switch -- true
says err 'time elapsed' "before the subcommand, too"
config other '[stat]' 'sort = name'
KERNLENS_CONFIG=$work/other kl stat -e sched_switch -- true
says err 'time elapsed' "KERNLENS_CONFIG names another file"
KERNLENS_CONFIG='' kl stat -e sched_switch -- true
says err 'time elapsed' "or none"
config "$own" '[record]' 'all = yes' '[stat]' 'all'
kl stat --json -p $$ --duration 0.1 -e sched_switch
expect "-p replaces the file's -a" 0
kl doctor --json
json "doctor names the files" '.checks[] | select(.name == "config") | .text | test("home/kernlens/config")'

# Errors.
config "$own" '[record]' '  bufer = 16M'
fails 'kernlens/config:2: unknown option "bufer"; did you mean "buffer"' 'bufer' record -- true
fails 'config:2: unknown option' 'bufer' print t
kl print --json t
json "as JSON" '.error == "USAGE" and (.message | test("config:2: "))'
kl doctor --json
json "doctor works, and reports it" '.checks[] | select(.name == "config") | .state == "fault" and (.text | test("config:2: "))'
kl help record
expect "help works" 0
kl record --help
expect "--help, too" 0
config "$own" '[record]' $'\tbuffer\t=   3x'
fails 'config:2: invalid size "3x"' '3x' record -- true
kl record -q --buffer 64K -o u -- true
expect "what the command line replaces is not read" 0
config "$own" '[recrod]'
fails 'config:1: unknown command "recrod"; did you mean "record"' 'recrod' list
config "$own" '[record'
fails 'a section is \[COMMAND\]' '[record' list
config "$own" 'buffer'
fails '"buffer" requires a value: SIZE' 'buffer' record -- true
config "$own" 'json = perhaps'
fails '"json" must be yes or no' 'perhaps' list
config "$own" 'help = yes'
fails 'cannot be a default' 'help' list
config "$own" '= x'
fails 'config:1: unknown option ""' '' list

# Hostile content: no crash, no control characters, no other status than 0 and 2.
head -c 65536 /dev/zero >"$own"
fails 'not a text' '' list
head -c 65537 /dev/zero | tr '\0' '#' >"$own"
fails 'longer than 65536 bytes' '' list
printf '\033[31m\n\033]0;x\007 = 1\n' >"$own"
fails 'unknown option' '' list
check "no control characters" bash -c '! LC_ALL=C grep -q "[^ -~]" "$1"' - "$work/err"
config "$own" "$(printf 'x%.0s' {1..5000}) = 1"
fails 'unknown option' '' list
printf 'json = yes' >"$own"
kl list mark
is_json "a last line without its end"
printf '[print]\r\nformat = csv\r\n' >"$own"
kl print t
says out '^time_ns,' "lines as Windows ends them"
for seed in {1..20}; do
	awk -v seed="$seed" 'BEGIN { srand(seed); for (i = 0; i < 300; i++) printf "%c", 1 + rand() * 255 }' >"$own"
	kl print t
	[[ $status == [02] ]] || break
done
check "random bytes" test "$status" -eq 0 -o "$status" -eq 2
rm "$own"
mkfifo "$own"
fails 'not a regular file' '' list
rm "$own"
mkdir "$own"
fails 'not a regular file' '' list
rmdir "$own"

# Files that others could change.
config "$own" '[print]' 'format = csv'
chmod 666 "$own"
fails 'can be changed by others' '' print t
chmod 664 "$own"
fails 'can be changed by others than its owner \(chmod go-w' '' print t
chmod 644 "$own"
chown 65534 "$own"
fails 'belongs to user 65534' '' print t
kl print --no-config t
expect "--no-config passes it by" 0
mkdir other.home
ln -s "$own" other.home/config
KERNLENS_CONFIG=$work/other.home/config kl print t
expect "a link to it does not help" 2
chmod 755 "$work" "$XDG_CONFIG_HOME" "${own%/*}"
kl_nobody list mark
expect "its owner may use it" 0
chown root "$own"
kl_nobody list mark
expect "and everyone a file of root" 0
config "$own" 'bufer = 1'
chmod 600 "$own"
kl_nobody list mark
expect "one that cannot be read is not passed by" 2
rm -r "$XDG_CONFIG_HOME"
unset XDG_CONFIG_HOME
export KERNLENS_CONFIG=
