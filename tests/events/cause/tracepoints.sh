#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Hits tracepoints that have no row in events.def: an ext4 on a loop device, modules, memory
# pressure.
set -eu

dir=$(mktemp -d)
truncate -s 16M "$dir/disk"
mkfs.ext4 -q "$dir/disk"
mkdir "$dir/on"
mount -o loop "$dir/disk" "$dir/on"
mkdir "$dir/on/a"
cp /usr/bin/env "$dir/on/a/"
mv "$dir/on/a/env" "$dir/on/b"
ln "$dir/on/b" "$dir/on/c"
ln -s b "$dir/on/d"
head -c 100000 "$dir/on/c" >/dev/null
truncate -s 100 "$dir/on/b"
rm "$dir/on/c"
sync
umount "$dir/on"
modprobe dummy
rmmod dummy
echo 3 >/proc/sys/vm/drop_caches
echo 1 >/proc/sys/vm/compact_memory
rm -r "$dir"
