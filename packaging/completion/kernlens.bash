# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2207
#
# Completion of kernlens for bash. The command itself lists its subcommands, options, formats,
# events, groups and masksets.

# Words for what follows the last comma, with "!" kept in front.
_kernlens_list() {
	local current=$1 words=$2 before=
	[[ $current != *,* ]] || before=${current%,*},
	current=${current#"$before"}
	[[ $current != !* ]] || before+=! current=${current#!}
	# A colon stands only after a group, whose events the user must type.
	COMPREPLY=($(compgen -P "$before" -W "$words" -- "$current"))
	compopt -o nospace
}

_kernlens_events() {
	_kernlens_list "$1" "default all $("$2" list groups --names 2>/dev/null) $("$2" list --names 2>/dev/null)"
}

# Prints the paths of all cgroups, or the names of those that are units.
_kernlens_cgroups() {
	local root
	root=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
	if [[ $1 == --cgroup ]]; then
		find "${root:-/sys/fs/cgroup}" -mindepth 1 -type d -printf '/%P\n'
	else
		find "${root:-/sys/fs/cgroup}" -type d -regex '.*\.\(service\|slice\|scope\)' -printf '%f\n'
	fi
}

# Completes the argument of an option.
_kernlens_argument() {
	local program=$1 command=$2 option=$3 current=$4 words
	case $option in
	-e | --event) _kernlens_events "$current" "$program" ;;
	-v | --variable | --variables) _kernlens_list "$current" "$("$program" list variables --names 2>/dev/null)" ;;
	-m | --maskset) COMPREPLY=($(compgen -W "$("$program" maskset list --names)" -- "$current")) ;;
	-p | --pid) _kernlens_list "$current" "$(ps -eo pid= 2>/dev/null)" ;;
	-u | --user) COMPREPLY=($(compgen -u -- "$current")) ;;
	--cgroup | --unit) COMPREPLY=($(compgen -W "$(_kernlens_cgroups "$option" 2>/dev/null)" -- "$current")) ;;
	--format)
		words=$("$program" "$command" --help 2>/dev/null | sed -n 's/.* one of: \([a-z ]*\);.*/\1/p')
		COMPREPLY=($(compgen -W "$words" -- "$current"))
		;;
	--to)
		# The time of print and view has no words.
		words=$("$program" "$command" --help 2>/dev/null | sed -n 's/^  \([a-z-]\+\)  \+[^-].*/\1/p')
		[[ $command != export ]] || COMPREPLY=($(compgen -W "$words" -- "$current"))
		;;
	--print) COMPREPLY=($(compgen -W "metrics prometheus-rules alertmanager" -- "$current")) ;;
	--listen) COMPREPLY=($(compgen -W ":9797 unix:" -- "$current")) ;;
	--time) COMPREPLY=($(compgen -W "relative wall" -- "$current")) ;;
	--by)
		words="process thread stack reason waker"
		[[ $command != locks ]] || words="lock type class function process owner stack"
		[[ $command != memory ]] || words="function stack process"
		[[ $command != @(profile|top) ]] || words="function object line process thread cpu cgroup"
		[[ $command != proc ]] || words="memory thrashing cpu io switches sleepers files $(
			"$program" list variables --names)"
		COMPREPLY=($(compgen -W "$words" -- "$current"))
		;;
	--holds) COMPREPLY=($(compgen -W "mutex rwsem rtmutex spinlock rwlock sleeping all" -- "$current")) ;;
	--only) COMPREPLY=($(compgen -W "kernel programs" -- "$current")) ;;
	--sort) COMPREPLY=($(compgen -W "count name" -- "$current")) ;;
	--color) COMPREPLY=($(compgen -W "auto always never" -- "$current")) ;;
	--snapshots) COMPREPLY=($(compgen -W "4 16 64" -- "$current")) ;;
	--on-alarm) COMPREPLY=($(compgen -c -- "$current")) ;;
	--buffer) COMPREPLY=($(compgen -W "256K 1M 4M 16M 64M" -- "$current")) ;;
	-f | --file | -i | --input | --core | --symbols | --types | --debug | --lcov | --rules | --token-file | --tls-* | --credentials | --login-file | --spool)
		compopt -o filenames
		COMPREPLY=($(compgen -f -- "$current"))
		;;
	-o | --output | --svg | --html)
		compopt -o filenames
		if [[ $command == @(record|unpack|extract) ]]; then
			COMPREPLY=($(compgen -d -- "$current"))
		else
			COMPREPLY=($(compgen -f -- "$current"))
		fi
		;;
	esac
}

# Completes words that are not options.
_kernlens_words() {
	local program=$1 command=$2 current=$3 words=
	case $command in
	list)
		words="events groups variables handlers masksets"
		_kernlens_list "$current" "$words $("$program" list groups --names) $("$program" list --names)"
		;;
	maskset)
		words="list show create set delete export import use"
		COMPREPLY=($(compgen -W "$words $("$program" maskset list --names)" -- "$current"))
		;;
	set)
		compopt -o nospace
		COMPREPLY=($(compgen -S = -W "$("$program" set --names)" -- "$current"))
		((${#COMPREPLY[@]})) || COMPREPLY=($(compgen -W "$(ps -eo pid= 2>/dev/null)" -- "$current"))
		;;
	buffer | snapshot)
		words=$("$program" status --json 2>/dev/null | sed -n 's/^ *"name": "\(.*\)",$/\1/p')
		COMPREPLY=($(compgen -W "$words" -- "$current"))
		;;
	blocks | path)
		words=$(sed -n 's/^[^ ]* [tT] \([^.\t]*\)$/\1/p' /proc/kallsyms 2>/dev/null)
		COMPREPLY=($(compgen -W "$words" -- "$current"))
		# A program's path, a colon and a function.
		[[ $current != */* ]] || { compopt -o filenames -o nospace; COMPREPLY=($(compgen -f -- "$current")); }
		;;
	fleet) COMPREPLY=($(compgen -W "ls top status freeze get view why rm create" -- "$current")) ;;
	mailbox) COMPREPLY=($(compgen -W "hook unhook use" -- "$current")) ;;
	history) COMPREPLY=($(compgen -W "print record plot" -- "$current")) ;;
	help) COMPREPLY=($(compgen -W "$("$program" help --commands)" -- "$current")) ;;
	print | report | view | export | plot | pack | unpack | extract)
		[[ $command != report ]] || words="syscalls sleepers events sched io irq mm net states"
		compopt -o filenames
		COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
		;;
	esac
}

_kernlens() {
	local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} command='' options word
	local -i i at=1 skip=0
	COMPREPLY=()

	while ((at < COMP_CWORD)) && [[ ${COMP_WORDS[at]} == -* ]]; do
		[[ ${COMP_WORDS[at]} != --color ]] || ((at++))
		((at++))
	done
	if ((at >= COMP_CWORD)); then
		if [[ $current == -* ]]; then
			COMPREPLY=($(compgen -W "--json --no-pager --no-config --color --version --help" -- "$current"))
		else
			COMPREPLY=($(compgen -W "$("$program" help --commands 2>/dev/null)" -- "$current"))
		fi
		return
	fi
	command=${COMP_WORDS[at]}
	options=$("$program" help --options "$command" 2>/dev/null) || return

	# The command to trace follows the options.
	for ((i = at + 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if ((skip)); then
			skip=0
		elif [[ $word == -- || $word != -* ]]; then
			[[ $command == record || $command == live || $command == stat || $command == @(latency|profile|why|locks|memory) ||
				$command == count || $command == coverage ||
				($command == @(path|plot) && $word == --) ]] || continue
			[[ $word != -- ]] || ((i++))
			_command_offset "$i" 2>/dev/null || COMPREPLY=($(compgen -c -- "$current"))
			return
		elif grep -qxF -e "$word=" <<<"$options"; then
			skip=1
		fi
	done
	if ((skip)); then
		_kernlens_argument "$program" "$command" "${COMP_WORDS[COMP_CWORD - 1]}" "$current"
	elif [[ $current == -* ]]; then
		COMPREPLY=($(compgen -W "${options//=/}" -- "$current"))
	elif [[ $command == record || $command == live || $command == stat || $command == @(latency|profile|why|locks|memory) ||
				$command == count || $command == coverage ]]; then
		COMPREPLY=($(compgen -c -- "$current"))
	else
		_kernlens_words "$program" "$command" "$current"
	fi
}

complete -F _kernlens kernlens
