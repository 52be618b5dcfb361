# shellcheck shell=bash disable=SC2034 # what is set here is used there
# SPDX-License-Identifier: GPL-2.0
#
# Shared by the checks, which source it. A check examines the project in the current directory,
# prints what it finds, one line each as FILE:LINE: TEXT where there is a line, and fails if it
# found anything. It changes nothing outside build/check.
set -euo pipefail
# The last part of a pipeline runs in this shell: "... | finding" counts.
shopt -s lastpipe
export LC_ALL=C

checks=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$(realpath -m "${KERNLENS_CACHE:-.cache}")
work=${BUILD:-build}/check
found=0

# The project's files that match the patterns: those that git tracks or would add. A tree without
# git (the archive of a release) is used as a whole.
project_files() {
	local file
	if [[ -e .git ]]; then
		git ls-files -co --exclude-standard -- "$@" | sort -u | while read -r file; do
			[[ ! -f $file ]] || echo "$file"
		done
	else
		local -a match=()
		for file in "$@"; do match+=(-o -path "./$file"); done
		find . -type f \( "${match[@]:1}" \) ! -path './build/*' ! -path './.cache/*' |
			sed 's#^\./##' | sort
	fi
}

# Findings are the arguments, or the lines of standard input if there are none.
finding() {
	local line
	if (($#)); then
		echo "$*"
		found=1
	else
		while IFS= read -r line; do finding "$line"; done
	fi
}

# grep that does not fail when it finds nothing.
search() {
	grep "$@" || (($? == 1))
}

cannot() {
	echo "cannot check: $*"
	exit 1
}

need() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || cannot "$tool is missing: run scripts/deps check"
	done
}

verdict() {
	exit "$found"
}
