# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Folders of this machine that a guest of vm/run sees, which it sources this file for: over 9p, or over
# virtiofs where the kernel has no 9p, as Debian's kernels for clouds. virtiofs needs root, and its
# daemon, which serves the guest's memory: such guests cannot be kept.

# Does the kernel have 9p? Only built-in virtiofs can take its place.
has_9p() {
	! grep -q '^CONFIG_VIRTIO_FS=y' "$kernel/config" 2>/dev/null ||
		grep -q '^CONFIG_NET_9P_VIRTIO=' "$kernel/config"
}

# The daemon: part of QEMU in Debian 12, a package of its own later.
virtiofs_daemon() {
	local daemon
	for daemon in /usr/lib/qemu/virtiofsd /usr/libexec/virtiofsd; do
		[[ ! -x $daemon ]] || {
			echo "$daemon"
			return
		}
	done
	die "$kernels has no 9p, and there is no virtiofsd: install qemu-system-common or virtiofsd"
}

# serve NAME PATH ro|rw: start a daemon for PATH, which ends with us.
serve() {
	local name=$1 path=$2 how=$3 daemon
	daemon=$(virtiofs_daemon)
	# It has no option for this: in its mount namespace, all but its socket's folder is read-only.
	# shellcheck disable=SC2016 # expanded inside
	unshare --mount --propagation private setpriv --pdeathsig KILL bash -c '
		set -e
		mount --bind "$2" "$2"
		[[ $4 == rw ]] || while read -r folder; do
			[[ ! -d $folder || $folder == "$2" ]] || mount -o remount,bind,ro "$folder"
		done < <(findmnt -rno TARGET)
		mount -t tmpfs tmpfs /run
		exec "$1" --socket-path="$2/$3.fs" -o source="$5" -o cache=always -o sandbox=chroot' \
		bash "$daemon" "$run" "$name" "$how" "$path" </dev/null >"$run/$name.log" 2>&1 9>&- &
	pids+=($!)
}

# share NAME PATH ro|rw: add a folder to `machine`, which the guest finds under the tag kl_NAME.
share() {
	local name=$1 path=$2 how=$3 options=security_model=none,multidevs=remap i
	if has_9p; then
		[[ $how == rw ]] || options+=,readonly=on
		machine+=(-fsdev "local,id=$name,path=$path,$options"
			-device "virtio-9p-pci,fsdev=$name,mount_tag=kl_$name")
		return
	fi
	serve "$@"
	for ((i = 0; i < 100; i++)); do
		[[ ! -S $run/$name.fs ]] || break
		sleep 0.05
	done
	[[ -S $run/$name.fs ]] || die "virtiofsd does not serve $path: $(<"$run/$name.log")"
	machine+=(-chardev "socket,id=fs-$name,path=$run/$name.fs"
		-device "vhost-user-fs-pci,chardev=fs-$name,tag=kl_$name")
}

# Memory that the daemons can reach.
share_memory() {
	has_9p || machine+=(-object "memory-backend-memfd,id=memory,size=${mem}M,share=on"
		-machine "memory-backend=memory")
}
