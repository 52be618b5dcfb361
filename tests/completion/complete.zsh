# SPDX-License-Identifier: GPL-2.0
#
# complete.zsh FOLDER LINE: print the words that zsh offers at the end of LINE, with the completion
# functions of FOLDER. An interactive zsh runs in a pseudo-terminal; its compadd writes to a file what it
# is given and matches.
zmodload zsh/zpty
export KL_OFFERED=$1/offered
: >$KL_OFFERED
zpty shell zsh -f -i
zpty -w shell 'fpath=('$1' $fpath); autoload -Uz compinit && compinit -u -D
compadd() {
	local -a matches
	if [[ " $* " != *" -"[ODA]" "* ]]; then
		builtin compadd -A matches "$@"
		print -rl -- $IPREFIX$^matches >>$KL_OFFERED
	fi
	builtin compadd "$@"
}
after() { print -r -- end >>$KL_OFFERED; }
complete-and-tell() { zle list-choices; after; }
zle -N complete-and-tell
bindkey "^I" complete-and-tell; print REA""DY'
zpty -r -m shell line '*READY*'
zpty -w -n shell $2$'\t'
for ((i = 0; i < 200; i++)); do
	[[ $(tail -n 1 $KL_OFFERED) != end ]] || break
	sleep 0.1
done
zpty -d shell
grep -v -e '^end$' -e '^$' $KL_OFFERED
