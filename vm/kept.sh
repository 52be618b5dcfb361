# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Guests of vm/run that have booted, which it sources this file to save and to continue.

# A sleep that signals end.
pause() {
	sleep "$1" &
	wait $!
}

# Boot the machine until it waits for its settings, and save it in file $1.
keep_guest() {
	local deadline=$((SECONDS + boot_limit)) why='' monitor
	# With several threads, the emulator has faults that would be kept.
	start_emulator "${machine[@]/thread=multi/thread=single}"
	until [[ -s $run/report || $why ]]; do
		pause 0.05
		((SECONDS < deadline)) || why="the guest did not come up in $boot_limit s"
		kill -0 "$qemu" 2>/dev/null || why='the emulator broke down'
	done
	if [[ ! $why ]]; then
		exec {monitor}<>"$run/monitor.in"
		printf '%s\n' 'migrate_set_parameter max-bandwidth 100G' \
			"migrate \"exec:zstd -1q >'$run/kept'\"" quit >&"$monitor"
		timeout 60 cat "$run/monitor.out" >"$run/monitor.log" &
		wait $! || true
		exec {monitor}>&-
		zstd -tq "$run/kept" && mv "$run/kept" "$1" || why="the emulator did not save the guest"
	fi
	{
		kill -KILL "$qemu" || true
		wait "$qemu" || true
	} 2>/dev/null
	qemu=''
	[[ ! $why ]] || echo "vm/run: $why; starting over: $(tail -n 1 "$run/emulator.log" "$run/monitor.log" 2>/dev/null)" >&2
	for file in report dmesg console.log; do
		: >"$run/$file"
	done
}

# Most runs continue a guest that has booted before: it is kept in a file while this machine is up,
# ten hours at most. Only what the emulator and the guest were started with decides which guest fits.
use_kept_guest() {
	local key
	[[ ! $icount && ! $kaslr && ! $gdb && ! $qmp && ${#qemu_more[@]} == 0 ]] || return 0
	key=$(printf '%s\n' "${machine[@]}" |
		sed -E 's/(path=)[^,]*|tsc_early_khz=[0-9]*|thread=[a-z]*/\1/; s#.*/run-.*##' |
		cat - "$cache/qemu/version" /proc/sys/kernel/random/boot_id | sha256sum)
	kept=$runs/kept/${key%% *}
	mkdir -p "$runs/kept"
	find "$runs/kept" -mindepth 1 -mmin +600 -delete
	# Another run may be saving the same one.
	exec 9>"$kept.lock"
	until flock -n 9; do pause 0.1; done
	[[ -e $kept ]] || keep_guest "$kept"
	exec 9>&-
	if [[ -e $kept ]]; then
		machine+=(-incoming "exec:zstd -dcq '$kept'")
	else
		kept=''
	fi
}
