# SPDX-License-Identifier: GPL-2.0
# The programs that strace and kernlens are compared on: name -> (command, commands that prepare).
# They run in a directory of their own, which is made anew before each run.

FILES = "printf 'b\\na\\nc\\n' >lines; seq 2000 >numbers; mkdir -p tree/x/y; cp lines tree/x/y"
SQL = "create table t(a); insert into t values (1), (2); select sum(a) from t;"
SOURCE = "printf '#include <stdio.h>\\nint main(void) { return puts(\"a\") < 0; }\\n' >a.c"
MAKE = "printf 'all: a b\\na:\\n\\techo a >a\\nb:\\n\\tcat a >b; true\\n' >Makefile"
GIT = ("export GIT_AUTHOR_DATE=2001-01-01T00:00:00Z GIT_COMMITTER_DATE=2001-01-01T00:00:00Z; "
       "git init -q .; git config user.name a; git config user.email a@b; echo 1 >f; git add f; "
       "git commit -qm one; echo 2 >>f; echo 3 >g")
PIPES = "echo a | cat | sort; (exit 3); x=$(cat lines); sleep 0.1 & wait; kill -USR1 $$"
PYTHON = ("import subprocess, threading, json, os; "
          "t = threading.Thread(target=lambda: os.stat('lines')); t.start(); t.join(); "
          "print(subprocess.run(['true']).returncode, json.dumps(os.listdir('.')))")
PERL = "use POSIX; open(F, '<', 'lines'); print sort <F>; print `echo hi`; kill 0, $$; exit 3"
TERMINAL = "stty -a; stty raw; stty sane; ls; tty; test -t 0"

# The last ones take longer.
PROGRAMS = {
    "true": ("true", ""),
    "ls": ("ls -l --color=always tree lines /etc/hostname", FILES),
    "cat": ("cat lines numbers nosuch", FILES),
    "cp": ("cp -a tree lines copy", FILES + "; mkdir copy"),
    "dd": ("dd if=numbers of=out bs=512 count=5 conv=fsync", FILES),
    "id": ("id", ""),
    "sort": ("sort -rn numbers", FILES),
    "grep": ("grep -rn b tree", FILES),
    "find": ("find . -name l* -type f", FILES),
    "tar": ("tar cf out.tar tree lines", FILES),
    "xz": ("xz -k -T1 numbers", FILES),
    "ssh": ("ssh -V", ""),
    "sqlite3": (f"sqlite3 base '{SQL}'", ""),
    "dash": ("sh -c 'cat lines numbers >/dev/null; ls >/dev/null; (exit 4)'", FILES),
    "bash": (f"bash -c '{PIPES}'", FILES),
    "perl": (f"perl -e '{PERL.replace(chr(39), chr(34))}'", FILES),
    "make": ("make -s", MAKE),
    "git-status": ("git status", GIT),
    "git-log": ("git --no-pager log", GIT),
    "curl": ("curl -s http://127.0.0.1:8765/lines", FILES),
    "script": (f"script -q -c '{TERMINAL}' log", FILES),
    "ps": ("ps ax", ""),
    "gcc": ("gcc -c a.c", SOURCE),
    "calls": ("$CALLS", ""),
    "python3": (f'python3 -c "{PYTHON}"', FILES),
}
