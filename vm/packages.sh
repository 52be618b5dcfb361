# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# How vm/fetch and vm/debug-kernel, which source this file, get Debian's packages: downloaded and
# unpacked into a folder of the cache from the machine's own apt sources, with apt's state next to
# them. Nothing is installed, and the machine's package lists do not change.

# The debug kernel is Debian 12's, whatever the machine runs.
# shellcheck disable=SC2034 # for those that source this file
codename=bookworm
# The suite that the machine's own sources have.
# shellcheck source=/dev/null
own_codename=$(. /etc/os-release && echo "$VERSION_CODENAME")

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# Copy those of the machine's apt sources that have suite $1, with the suites in $2 instead. The
# rest does not change: mirror, signing key, options.
derive_sources() {
	local has=$1 suites=$2 out=$3 file
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[[ -r $file ]] || continue
		awk -v has="$has" -v suites="$suites" '
			$1 == "deb" {
				at = 2
				if ($2 ~ /^\[/)
					while ($at !~ /\]$/) at++
				else
					at = 1
				if ($(at + 2) != has) next
				n = split(suites, suite, " ")
				for (i = 1; i <= n; i++) { $(at + 2) = suite[i]; print }
			}' "$file"
	done >"$out/derived.list"
	for file in /etc/apt/sources.list.d/*.sources; do
		[[ -r $file ]] || continue
		awk -v has="$has" -v suites="$suites" '
			BEGIN { RS = ""; FS = "\n"; ORS = "\n\n" }
			{
				kept = 0; enabled = 1; text = ""
				for (i = 1; i <= NF; i++) {
					if ($i ~ /^#/) continue
					if ($i ~ /^Enabled:[ \t]*no/) enabled = 0
					if ($i ~ /^Types:/) $i = "Types: deb"
					if ($i ~ /^Suites:/) {
						n = split($i, suite, /[ \t]+/)
						for (k = 2; k <= n; k++) if (suite[k] == has) kept = 1
						$i = "Suites: " suites
					}
					text = text (text ? "\n" : "") $i
				}
				if (kept && enabled) print text
			}' "$file"
	done >"$out/derived.sources"
}

# Run apt with the private configuration below $1: the machine's package lists do not change, and
# only the suites meant for this kernel are used, not the versions that are installed.
private_apt() {
	local dir=$1 tool=$2
	shift 2
	"$tool" -qq \
		-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$dir/sources" \
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
		-o Dir::State::status=/dev/null -o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir/cache" \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none "$@"
}

# Create a clean folder $1, where apt finds the suites in $2: those of security updates in the
# machine's sources for security updates, all others in those for its own release.
start_suites() {
	local work=$1 suite base main='' security=''
	for suite in $2; do
		case $suite in
		*-security) security+="${security:+ }$suite" ;;
		*) main+="${main:+ }$suite" ;;
		esac
	done
	rm -rf "$work"
	mkdir -p "$work"/{apt/sources,apt/security,apt/lists/partial,apt/cache/archives/partial,debs,root}
	derive_sources "$own_codename" "$main" "$work/apt/sources"
	[[ $security ]] || return 0
	derive_sources "$own_codename-security" "$security" "$work/apt/security"
	for base in list sources; do
		cat "$work/apt/security/derived.$base" >>"$work/apt/sources/derived.$base"
	done
}

# Download and unpack packages below $1.
unpack() {
	local work=$1
	shift
	(cd "$work/debs" && private_apt "$work/apt" apt-get download "$@")
	unpack_downloaded "$work"
}

unpack_downloaded() {
	local work=$1 package
	for package in "$work"/debs/*.deb; do
		dpkg-deb -x "$package" "$work/root"
	done
	rm -rf "$work/debs" "$work/apt"
}

has_source() {
	cat "$1"/apt/sources/* | grep -q . || die "no apt source of this machine carries $own_codename"
}

# The version that apt would install.
candidate() {
	private_apt "$1/apt" apt-cache policy "$2" | awk '/Candidate:/ { print $2 }'
}

# The newest version in any of the suites: apt prefers a release to its backports.
newest() {
	local version best=''
	while read -r version; do
		! dpkg --compare-versions "$version" gt "${best:-0}" || best=$version
	done < <(private_apt "$1/apt" apt-cache madison "$2" | awk '{ print $3 }')
	echo "$best"
}

# The address of the archive that the first source of $1 has.
first_archive() {
	cat "$1"/apt/sources/* | awk '
		found { next }
		$1 == "URIs:" { found = $2 }
		$1 == "deb" {
			at = 2
			if ($2 ~ /^\[/)
				while ($(at++) !~ /\]$/);
			found = $at
		}
		END { print found }' | sed 's#/*$##'
}
