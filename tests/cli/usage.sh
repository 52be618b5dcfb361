# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Usage texts, suggestions, exit status 2, errors as JSON.

kl --version
expect "--version" 0
says out '^kernlens [0-9]+\.[0-9]+\.[0-9]+$'
kl --json --version
is_json "--version is JSON with --json"
kl --help
expect "--help" 0
says out '^  record '
kl
expect "no command is a wrong usage" 2
says out 'usage: kernlens'
for command in $("$kernlens" help --commands); do
	kl help "$command"
	expect "help $command" 0
	says out "^usage: kernlens $command"
	kl "$command" --help
	expect "$command --help" 0
	check "help --options $command names --json" \
		bash -c "'$kernlens' help --options $command | grep -qx -- --json"
	kl "$command" --nosuchoption
	expect "$command knows its options" 2
	kl --json "$command" --nosuchoption
	json "$command: a wrong option is a JSON error" '.error == "USAGE" and .message'
done
kl recrod
expect "unknown command" 2
says err 'did you mean "record"' "the near command is suggested"
kl record --overwirte
says err 'did you mean --overwrite' "the near option is suggested"
kl record -z
says err 'unknown option -z'
kl record -o
says err 'requires an argument: DIR'
kl record --buffer 3x -- true
expect "a size is checked" 2
kl record --duration soon -- true
expect "a duration is checked" 2
kl record -m NOSET -- true
says err 'unknown maskset "NOSET" \(kernlens maskset list shows them\)' "masksets are listed for an unknown one"
kl record -u nosuchuser -- true
expect "an unknown user" 2
kl record -a -p 1
says err 'only one of -a, -p, -u, --cgroup, --unit and --container can be given'
kl record --unit a --cgroup b
says err 'only one of --cgroup, --unit and --container can be given'
kl record -e sched_swich -- true
expect "an unknown event" 2
says err 'sched_switch' "the near event is suggested"
kl record --json -e sched_swich -- true
json "an unknown event is a JSON error" '.error == "USAGE" and (.message | test("sched_switch"))'
kl print "$work/nothing"
expect "a directory that is not there" 1
says err 'No such file or directory'
mkdir "$work/empty"
kl print "$work/empty"
says err 'is not a trace'
kl --json report "$work/empty"
json "no trace is a JSON error" '.error == "ENOENT"'
kl report slepers x
says err 'did you mean "sleepers"'
kl print x --format xml
expect "an unknown format" 2
