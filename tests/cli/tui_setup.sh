# shellcheck shell=bash disable=SC2154,SC2016,SC1003
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# The setup of the full-screen view: saved when the user quits, used at the next start, and harmless
# whatever the file contains.

# shellcheck source=/dev/null
. "$here/tui_terminal"

file=$XDG_CONFIG_HOME/kernlens/proc

# quits [KEY]: leaves the view and checks that it succeeds.
quits() {
	keys "${1:-q}"
	shows "it ends" '^ended with 0'
	end
}

begin 100 24 "$kernlens proc"
shows "a view" 'F10Quit'
quits
check "what has not changed is not saved" test ! -e "$file"

begin 100 24 "$kernlens proc -d 0.7 -v tid,uid,comm -t"
shows "with options" '^ +PID USER +Command'
quits
check "options are not saved" test ! -e "$file"

begin 100 24 "$kernlens proc"
shows "a view" 'F10Quit'
keys N
shows "another order" 'PID△'
quits C-c
check "Ctrl+C does not save" test ! -e "$file"

begin 100 24 "$kernlens proc"
shows "a view" 'F10Quit'
keys N I p t '\' b a s h Enter F2
shows "the setup" '^Columns shown'
keys Tab Down Down Enter
shows "one more column" '^PPID'
keys BTab BTab
shows "its options" '^Options'
shows "tree mode is one of them" '^\[x\] Tree'
keys + Down Down Down Space Down Down Down Space
shows "a longer interval" 'Update interval: 1\.5 s'
shows "kernel threads" '^\[x\] Kernel threads'
shows "no mouse" '^\[ \] Use the mouse'
keys Escape Tab
shows "the other tab" 'IOD%'
quits
check "the setup is saved" test -f "$file"
check "for its owner only" test "$(stat -c '%a %U' "$file" "${file%/*}" | xargs)" = "600 root 700 root"
check "nothing else is left" test "$(ls -A "${file%/*}")" = proc
cp "$file" saved
sed 's/^/# /' saved

resume 100 24 "$kernlens proc"
shows "the next view begins in that tab" 'IOD%'
shows "with the filter, and says so" 'Only commands with "bash" are shown'
keys Tab
shows "the columns" '^ +PID.*PPID.*Command'
shows "the order" 'PID▽'
keys F2 BTab
for option in '    Update interval: 1.5 s' '[x] Tree' '[x] Kernel threads' '[ ] Path' '[ ] Use the'; do
	check "option $option" grep -qF "$option" <(await has '^Options'; cat "$work/out")
done
keys Escape Tab
shows "back in the tab" 'IOD%'
quits
check "and writes the same" cmp "$file" saved

resume 100 24 "$kernlens proc --no-setup"
shows "--no-setup: the defaults" 'CPU%▽'
keys N
shows "even if changed" 'PID△'
quits
check "are not saved" cmp "$file" saved

resume 100 24 "$kernlens proc -d 5 -v tid,comm"
shows "-v: its columns, not the saved tab" '^ +PID▽Command'
keys I
shows "a change" 'PID△Command'
quits
check "is saved" grep -qx 'main.sort=tid' "$file"
check "but not what the options said" diff <(grep -v '^main.sort' saved) <(grep -v '^main.sort' "$file")

# ----------------------------------------------------------- files of all kinds
survives() {
	resume 140 24 "$kernlens proc"
	shows "$1: a view" 'F10Quit|saved setup'
	check "$1: $3" has "$2"
	keys q
	shows "$1: it ends" '^ended with 0'
	end
}
printf 'interval=0.000001\n' >"$file"
survives "a short interval" 'Line 1 of the saved setup is not valid' "is refused"
for value in nan inf -1 1e300 1x ''; do echo "interval=$value"; done >"$file"
survives "no intervals" 'Line 6 of the saved setup is not valid' "are refused"
printf 'later=1\ntab=main\nmain.columns=tid,nosuch,irqs_off,tid,comm,kstack\nmain.sort=comm\n' >"$file"
survives "names of another version" '^ +PID +Command△' "what is known is used"
printf 'main.columns=nosuch\nmain.sort=nosuch\ntree=maybe\ntab=\nfilter=\033[31m\n' >"$file"
survives "nothing valid" 'CPU%▽' "the defaults are used"
printf 'main.columns=%s\n' "$(seq -s, 100000)" >"$file"
survives "more than a setup has" 'saved setup is not used: .* has more than 65536 bytes' "is not used"
head -c 5000 /dev/zero >"$file"
survives "no text" 'saved setup is not used: it is not a text' "is not used"
head -c 60000 /dev/urandom | tr -d '\000' >"$file"
survives "noise" 'CPU%▽|saved setup' "does no harm"
rm "$file" && mkfifo "$file"
survives "a pipe" 'saved setup is not used: .* is not a regular file' "is not opened"
rm "$file" && ln -s /dev/zero "$file"
survives "a device" 'saved setup is not used: .* is not a regular file' "is not opened"
rm "$file" && mkdir "$file"
survives "a directory" 'saved setup is not used: .* is not a regular file' "is not read"
rmdir "$file"

# ------------------------------------------------------------ where it is saved
echo untouched >target
ln -s "$work/target" "$file"
resume 100 24 "$kernlens proc"
shows "a link is followed to read" 'Line 1 of the saved setup is not valid'
keys N
quits
check "and replaced, not followed, to write" test -f "$file" -a ! -L "$file" -a "$(<target)" = untouched
chown -R 60001 "$XDG_CONFIG_HOME"
cp "$file" saved
resume 200 24 "$kernlens proc"
shows "root reads a user's setup" 'PID△'
keys P
shows "and changes it" 'CPU%▽'
keys q
shows "but does not write into the user's directory" 'the setup is not saved: .* belongs to user 60001'
shows "and ends" '^ended with 0'
end
check "it is as it was" cmp "$file" saved
rm -rf "$XDG_CONFIG_HOME"
resume 100 24 "HOME= XDG_CONFIG_HOME=relative $kernlens proc"
shows "without a home" 'F10Quit'
keys N
quits
check "nothing is saved" test ! -e relative
mkdir -m 777 "$work/home"
resume 100 24 "HOME=$work/home XDG_CONFIG_HOME= setpriv --reuid 60001 --regid 60001 --clear-groups --bounding-set=-all -- $kernlens proc"
shows "an ordinary user" 'F10Quit'
keys N
shows "changes the order" 'PID△'
quits
check "and has it in their home" grep -qx 'main.sort=tid' "$work/home/.config/kernlens/proc"
leave_terminal
