# shellcheck shell=bash disable=SC2154,SC2034
# SPDX-License-Identifier: GPL-2.0
#
# The machine of vm/run --ibt, which sources this file: Bochs, with a processor that tracks indirect
# branches. It has no 9p, so the guest gets copies: all its files are in an initramfs. The emulator
# puts that, the kernel and the parameters into memory before it starts, so nothing is read from a
# disk or unpacked; the disk has the boot sector (vm/ibt-loader.S), and takes what comes out.
# The serial ports are what the ports of virtio are in QEMU: 1 is the console, and takes the log.

# Packages that guests have, with what they depend on.
readonly ibt_packages='base-files base-passwd bash bsdutils coreutils dash diffutils e2fsprogs findutils gojq
	grep jq kmod libc-bin mount procps python3 sed util-linux'
readonly ibt_leave_out='^/(boot|var|etc/(skel|cron)|usr/share/(bash-completion|bug|doc|doc-base|info|lintian|locale|man|perl5|zoneinfo))(/|$)'
# Modules that guests have, with what they depend on: the disk, and what tests load. ext4 requests
# crc32c_generic by an alias.
readonly ibt_disk_modules=(ata_piix sd_mod) ibt_modules=(dummy loop crc32c_generic ext4)
# Physical addresses: the parameters, where the boot sector expects them; the kernel, as it is linked;
# the two parts of the initramfs follow it.
readonly ibt_params=0x200000 ibt_memmap=0x8000 ibt_kernel=0x1000000
# What comes out begins after this many MiB of the disk.
readonly ibt_disk_out=1 ibt_disk_size=2048

ibt_check() {
	[[ ! $icount && ! $kaslr && ! $gdb && ! $qmp && $threads == single && $root == / ]] ||
		die "--ibt does not go together with --icount, --kaslr, --gdb, --qmp, --parallel or --root"
	((${#qemu_more[@]} == 0)) || die "--ibt does not go together with --qemu"
	emulator=$cache/bochs
	[[ -x $emulator/bin/bochs ]] || die "no Bochs in $cache: run vm/ibt-emulator"
	[[ -e $kernel/vmlinux ]] || die "$kernel has no vmlinux"
	command -v objcopy >/dev/null || die "no objcopy: run scripts/deps ibt"
}

# The names of installed packages that $1 names, and of all that they depend on.
ibt_closure() {
	dpkg-query -W -f '${db:Status-Status}\t${Package}\t${Provides}\t${Pre-Depends}, ${Depends}\n' |
		awk -F '\t' -v wanted="$1" '
			# Splits a list of dependencies; alternatives are taken as if all were wanted.
			function names(text, to) {
				gsub(/\([^)]*\)|:[a-z0-9]+| /, "", text)
				return split(text, to, /[,|]+/)
			}
			function want(name) { if (name != "" && !(name in seen)) { seen[name] = 1; queue[++last] = name } }
			$1 == "installed" {
				needs[$2] = $4
				for (i = names($3, provided); i; i--) real[provided[i]] = real[provided[i]] " " $2
			}
			END {
				for (i = split(wanted, first, /[ \t\n]+/); i; i--) want(first[i])
				for (at = 1; at <= last; at++) {
					name = queue[at]
					for (i = split(real[name], by, " "); i; i--) want(by[i])
					if (!(name in needs)) continue
					print name
					for (i = names(needs[name], need); i; i--) want(need[i])
				}
			}' | sort
}

# Write an archive of files. Reads absolute names; their folders need not be among them.
ibt_archive() {
	awk -F / '{
		path = ""
		for (i = 2; i <= NF; i++) { path = path "/" $i; if (!seen[path]++) print substr(path, 2) }
	}' | LC_ALL=C sort | (cd / && cpio --quiet -o -H newc -R 0:0)
}

# The part of the initramfs that depends only on the machine's packages: made once.
ibt_base() {
	local names key out
	# shellcheck disable=SC2086
	names=$(ibt_closure "$ibt_packages$packages")
	# shellcheck disable=SC2086
	key=$(dpkg-query -W $names | cat - "$vm/ibt.sh" | sha256sum)
	out=$emulator/initramfs/${key%% *}.cpio
	if [[ ! -e $out ]]; then
		mkdir -p "$emulator/initramfs"
		find "$emulator/initramfs" -type f -mtime +1 -delete 2>/dev/null || true
		# In Debian, /bin is a link, and packages name what is below it either way.
		# shellcheck disable=SC2086
		dpkg-query -L $names | grep -vE "$ibt_leave_out" |
			sed -E 's#^/(bin|sbin|lib|lib32|lib64|libx32)/#/usr/&#; s#^(/usr)/+#\1/#' | LC_ALL=C sort -u |
			while IFS= read -r file; do
				[[ ! -e $file && ! -L $file ]] || echo "$file"
			done | ibt_archive >"$run/base"
		mv "$run/base" "$out"
	fi
	echo "$out"
}

# The files that this run needs besides: those of the project that every test uses, those that the
# command line names, and the libraries of the programs among them.
ibt_files() {
	local file
	printf '%s\n' /etc/{passwd,group,shadow,ld.so.cache,nsswitch.conf} /etc/alternatives
	find /usr/bin /usr/sbin -lname '/etc/alternatives/*'
	for file in "$project/build/kernlens" "$project/tests" ${ko:+"$ko"} "${rw[@]}" "${files[@]}"; do
		[[ -e $file ]] || die "$file: no such file"
		realpath -s "$file"
	done
	for file in "$project/build/kernlens" "${files[@]}"; do
		[[ ! -f $file || ! -x $file ]] || ldd "$file" 2>/dev/null | grep -oE '/[^ ]+' || true
	done | sort -u | while IFS= read -r file; do
		echo "$file"
		realpath "$file"
	done | sed -E 's#^/(bin|sbin|lib|lib64)/#/usr/&#; s#^(/usr)/+#\1/#'
}

# The modules that guests have, and the tables that modprobe needs.
ibt_module_files() {
	local file
	[[ -d $kernel/modules ]] || return 0
	for file in modules.{dep,dep.bin,alias,alias.bin,symbols,symbols.bin,builtin,builtin.bin,order,softdep} \
		$(module_order "${ibt_disk_modules[@]}" "${ibt_modules[@]}"); do
		[[ ! -e $kernel/modules/$file ]] || echo "$file"
	done
}

# The part of the initramfs that belongs to this run.
ibt_initramfs() {
	local tree=$run/tree file own=run/kernlens-vm
	mkdir -p "$tree"/{proc,sys,dev,tmp,root} "$tree$cwd"
	copy_busybox "$tree/$own/bin"
	cp "$vm/guest" "$tree/$own/guest"
	cp "$vm/ibt-init" "$tree/init"
	cp -r "$run/kl" "$tree/$own/kl"
	if ((${#rw[@]})); then
		unpack_modules "$tree/$own/modules" "${ibt_disk_modules[@]}"
	fi
	mkdir -p "$tree/usr/lib/modules/$release"
	ibt_module_files | (cd "$kernel/modules/" && cpio --quiet -pdmL "$tree/usr/lib/modules/$release")
	(cd "$tree" && find . -mindepth 1 | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) >"$run/own"
	rm -rf "$tree"
	ibt_files | while IFS= read -r file; do
		if [[ -d $file && ! -L $file ]]; then
			find "$file" -not -type s
		else
			echo "$file"
		fi
	done | LC_ALL=C sort -u >"$run/files"
	ibt_archive <"$run/files" >>"$run/own"
}

# Little-endian numbers: of how many bytes each, then the numbers.
ibt_numbers() {
	local bytes=$1 number i text=''
	shift
	for number; do
		for ((i = 0; i < bytes; i++)); do
			printf -v text '%s\\x%02x' "$text" $((number >> (8 * i) & 255))
		done
	done
	printf '%b' "$text"
}

# The kernel as it lies in memory, and its entry point by the PVH ABI (note 18 of Xen): made once.
ibt_flatten() {
	local entry
	[[ ! -s $kernel/flat.entry ]] || return 0
	entry=$(readelf -n "$kernel/vmlinux" 2>/dev/null | awk '
		/\(0x00000012\)/ { found = 1; next }
		found { print "0x" $6 $5 $4 $3; exit }')
	[[ $entry ]] || die "$kernel/vmlinux has no PVH entry point"
	objcopy -O binary "$kernel/vmlinux" "$run/flat"
	mv "$run/flat" "$kernel/flat"
	echo "$entry" >"$run/flat.entry"
	mv "$run/flat.entry" "$kernel/flat.entry"
}

# struct hvm_start_info, its list of modules (one: the initramfs), the entry point, and the command
# line.
ibt_write_params() {
	local initrd=$1 bytes=$2 arguments=$3
	{
		ibt_numbers 4 0x336ec578 1 0 1
		ibt_numbers 8 $((ibt_params + 0x40)) $((ibt_params + 0x100)) 0 "$ibt_memmap"
		ibt_numbers 4 0 0
		ibt_numbers 8 0 "$initrd" "$bytes" 0 0 # the first fills up to the list
		ibt_numbers 4 "$(<"$kernel/flat.entry")"
		head -c $((0x100 - 0x64)) /dev/zero
		printf '%s\0' "$arguments"
	} >"$run/params"
}

ibt_write_disk() {
	gcc -nostdlib -m32 -Wl,-Ttext=0x7c00,--oformat=binary,-m,elf_i386,--build-id=none \
		-o "$run/disk" "$vm/ibt-loader.S" || die "no compiler for the boot sector: run scripts/deps ibt"
	truncate -s "${ibt_disk_size}M" "$run/disk"
}

# Prepare everything, and set `machine` to the emulator's command. $1: the kernel's arguments.
ibt_prepare() {
	local base own at
	base=$(ibt_base)
	ibt_initramfs
	ibt_flatten
	ibt_write_disk
	# The kernel has variables after what the file has of it.
	at=$(((ibt_kernel + $(stat -Lc %s "$kernel/flat") + 0x4000000) & ~0xfffff))
	own=$((at + $(stat -c %s "$base")))
	ibt_write_params "$at" $((own + $(stat -c %s "$run/own") - at)) "$1"
	cat >"$run/bochsrc" <<-END
		config_interface: textconfig
		display_library: nogui
		cpu: model=$cpu, count=$smp, ips=100000000, reset_on_triple_fault=0, ignore_bad_msrs=1
		memory: guest=$mem, host=$mem
		romimage: file=$emulator/share/bochs/BIOS-bochs-latest
		vgaromimage: file=$emulator/share/vgabios/vgabios.bin
		optramimage1: file=$run/params, address=$ibt_params
		optramimage2: file=$(realpath "$kernel/flat"), address=$ibt_kernel
		optramimage3: file=$base, address=$(printf '0x%x' "$at")
		optramimage4: file=$run/own, address=$(printf '0x%x' "$own")
		ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
		ata0-master: type=disk, mode=flat, path=$run/disk, cylinders=0
		boot: disk
		clock: sync=none, time0=utc
		com1: enabled=1, mode=file, dev=$run/console.log
		com2: enabled=1, mode=file, dev=$run/stdout
		com3: enabled=1, mode=file, dev=$run/stderr
		com4: enabled=1, mode=file, dev=$run/report
		log: $run/bochs.log
		panic: action=fatal
		error: action=ignore
		info: action=ignore
		debug: action=ignore
	END
	machine=("$emulator/bin/bochs" -q -f "$run/bochsrc")
}

# Bring what the guest has left in the shared folders to where they are.
ibt_bring_out() {
	((${#rw[@]})) || return 0
	# An empty disk is an archive for tar, too. It ends before the disk does.
	cmp -s -n 512 -i "$((ibt_disk_out * 1048576)):0" "$run/disk" /dev/zero && return 1
	tail -c "+$((ibt_disk_out * 1048576 + 1))" "$run/disk" 2>/dev/null |
		tar -C / -xf - --no-same-owner 2>"$run/tar.log"
	[[ ${PIPESTATUS[1]} == 0 ]]
}

# The guest does not get past a panic: end the emulator, whose process is $1, once the console has one.
ibt_watch() {
	while kill -0 "$1" 2>/dev/null; do
		if grep -q 'Kernel panic - not syncing' "$run/console.log" 2>/dev/null; then
			sleep 5
			: >"$run/panicked"
			kill -KILL "$1" 2>/dev/null || true
		fi
		sleep 2
	done
}
