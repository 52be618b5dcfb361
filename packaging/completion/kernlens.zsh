#compdef kernlens
# SPDX-License-Identifier: GPL-2.0
#
# Completion of kernlens for zsh. The command itself lists its subcommands, options, events, groups
# and masksets.

# Subcommands, each with its line of help.
_kernlens_commands() {
	local -a commands
	commands=(${(f)"$(_call_program commands kernlens help 2>/dev/null |
		sed -n '/^examples/q; s/^  \([a-z]*\)  *\(.*\)$/\1:\2/p')"})
	_describe -t commands 'kernlens command' commands
}

# Words that may be listed with commas between them.
_kernlens_list() {
	compset -P '*,'
	compset -S ',*'
	compadd -q -S, -- "$@"
}

_kernlens_events() {
	_kernlens_list default all ${(f)"$(kernlens list groups --names 2>/dev/null)"} \
		${(f)"$(kernlens list --names 2>/dev/null)"}
}

# Prints the paths of all cgroups, or the names of those that are units.
_kernlens_cgroups() {
	local root=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
	if [[ $1 == --cgroup ]]; then
		find "${root:-/sys/fs/cgroup}" -mindepth 1 -type d -printf '/%P\n'
	else
		find "${root:-/sys/fs/cgroup}" -type d -regex '.*\.\(service\|slice\|scope\)' -printf '%f\n'
	fi
}

# Completes the argument of an option.
_kernlens_argument() {
	case $1 in
	-e | --event) _kernlens_events ;;
	-v | --variable) _kernlens_list ${(f)"$(kernlens list variables --names 2>/dev/null)"} ;;
	-m | --maskset) compadd -- ${(f)"$(kernlens maskset list --names 2>/dev/null)"} ;;
	-p | --pid) _pids ;;
	-u | --user) _users ;;
	--cgroup | --unit) compadd -- ${(f)"$(_kernlens_cgroups $1 2>/dev/null)"} ;;
	--color) compadd auto always never ;;
	--sort) compadd count name ;;
	--time) compadd relative wall ;;
	*) _files ;;
	esac
}

# Completes words that are not options.
_kernlens_words() {
	case $1 in
	help) compadd -- ${(f)"$(kernlens help --commands)"} ;;
	list)
		compadd -- events groups variables handlers masksets \
			${(f)"$(kernlens list groups --names)"} ${(f)"$(kernlens list --names)"}
		;;
	fleet) compadd ls top status freeze get view why rm create ;;
	maskset)
		compadd -- list show create set delete export import use \
			${(f)"$(kernlens maskset list --names)"}
		;;
	proc | set) _pids ;;
	memory) _pids && _command_names -e ;;
	record | live | stat | profile | latency | why | locks | count | coverage | path) _command_names -e ;;
	*) _files ;;
	esac
}

_kernlens() {
	local command word i
	local -a known options described

	known=(${(f)"$(_call_program commands kernlens help --commands 2>/dev/null)"})
	for ((i = 2; i < CURRENT; i++)); do
		if ((${known[(Ie)${words[i]}]})); then
			command=${words[i]}
			break
		fi
	done
	if [[ -z $command ]]; then
		_kernlens_commands
		return
	fi
	options=(${(f)"$(_call_program options kernlens help --options $command 2>/dev/null)"})
	if ((${options[(Ie)${words[CURRENT - 1]}=]})); then
		_kernlens_argument ${words[CURRENT - 1]}
		return
	fi
	# The command to trace follows the options, or --.
	for ((i++; i < CURRENT; i++)); do
		word=${words[i]}
		if ((${options[(Ie)$word=]})); then
			((i++))
		elif [[ $word != -* || $word == -- ]]; then
			case $command in
			record | live | stat | profile | latency | why | locks | memory | count | coverage)
				[[ $word != -- ]] || ((i++))
				shift $((i - 1)) words
				((CURRENT -= i - 1))
				_normal
				return
				;;
			esac
		fi
	done
	if [[ ${words[CURRENT]} == -* ]]; then
		described=(${(f)"$(_call_program options kernlens help $command 2>/dev/null |
			sed -n 's/^  \(-.\), \(--[a-z-]*\)\([[ ][^ ]*\)\{0,1\}  *\(.*\)$/\1:\4\n\2:\4/p
				s/^      \(--[a-z-]*\)\([[ ][^ ]*\)\{0,1\}  *\(.*\)$/\1:\3/p')"})
		_describe -o -t options option described
	else
		_kernlens_words $command
	fi
}

_kernlens "$@"
