# SPDX-License-Identifier: GPL-2.0
#
# Completion of kernlens for fish. The command itself lists its subcommands, options, events, groups
# and masksets.

# The subcommand that was typed, if any.
function __kernlens_command
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if contains -- $word (kernlens help --commands 2>/dev/null)
            echo $word
            return 0
        end
    end
    return 1
end

# Subcommands, each with its line of help.
function __kernlens_commands
    kernlens help 2>/dev/null | sed -n '/^examples/q; s/^  \([a-z]*\)  *\(.*\)$/\1\t\2/p'
end

# Options of the subcommand, each with its line of help.
function __kernlens_options
    set -l command (__kernlens_command)
    or return
    kernlens help $command 2>/dev/null |
        sed -n 's/^  \(-.\), \(--[a-z-]*\)\([[ ][^ ]*\)\{0,1\}  *\(.*\)$/\1\t\4\n\2\t\4/p
            s/^      \(--[a-z-]*\)\([[ ][^ ]*\)\{0,1\}  *\(.*\)$/\1\t\3/p'
end

# Add each word of the standard input to the list before the last comma.
function __kernlens_list
    set -l before (string match -r '^.*,' -- (commandline -ct); or echo)
    while read -l word
        echo $before$word
    end
end

function __kernlens_events
    begin
        printf '%s\n' default all
        kernlens list groups --names
        kernlens list --names
    end 2>/dev/null | __kernlens_list
end

# Print the paths of all cgroups, or the names of those that are units.
function __kernlens_cgroups
    set -l root (findmnt -n -t cgroup2 -o TARGET | head -n 1; or echo /sys/fs/cgroup)
    if test $argv[1] = --cgroup
        find $root -mindepth 1 -type d -printf '/%P\n'
    else
        find $root -type d -regex '.*\.\(service\|slice\|scope\)' -printf '%f\n'
    end
end

# Is the word before the cursor one of these options?
function __kernlens_after
    contains -- (commandline -opc)[-1] $argv
end

function __kernlens_is
    contains -- (__kernlens_command; or echo none) $argv
end

complete -c kernlens -f
complete -c kernlens -n 'not __kernlens_command >/dev/null' -a '(__kernlens_commands)'
complete -c kernlens -n '__kernlens_command >/dev/null; and string match -q -- "-*" (commandline -ct)' \
    -a '(__kernlens_options)'
complete -c kernlens -n '__kernlens_after -e --event' -a '(__kernlens_events)'
complete -c kernlens -n '__kernlens_after -v --variable' \
    -a '(kernlens list variables --names 2>/dev/null | __kernlens_list)'
complete -c kernlens -n '__kernlens_after -m --maskset' -a '(kernlens maskset list --names 2>/dev/null)'
complete -c kernlens -n '__kernlens_after -p --pid' -a '(__fish_complete_pids)'
complete -c kernlens -n '__kernlens_after -u --user' -a '(__fish_complete_users)'
complete -c kernlens -n '__kernlens_after --cgroup' -a '(__kernlens_cgroups --cgroup 2>/dev/null)'
complete -c kernlens -n '__kernlens_after --unit' -a '(__kernlens_cgroups --unit 2>/dev/null)'
complete -c kernlens -n '__kernlens_is print report view export plot pack unpack extract' -F
complete -c kernlens -n '__kernlens_is report' -a 'syscalls sleepers events sched io irq mm net states'
complete -c kernlens -n '__kernlens_is proc set memory' -a '(__fish_complete_pids)'
complete -c kernlens -n '__kernlens_is mailbox' -a 'hook unhook use'
complete -c kernlens -n '__kernlens_is help' -a '(kernlens help --commands)'
complete -c kernlens -n '__kernlens_is list' -a '(kernlens list groups --names; kernlens list --names)'
complete -c kernlens -n '__kernlens_is fleet' -a 'ls top status freeze get view why rm create'
complete -c kernlens -n '__kernlens_is maskset' \
    -a 'list show set create delete export import use (kernlens maskset list --names)'
complete -c kernlens -n '__kernlens_is record live stat profile latency why locks memory count coverage path' \
    -a '(__fish_complete_subcommand --fcs-skip=2)'
