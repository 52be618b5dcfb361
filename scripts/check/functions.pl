#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
#
# functions.pl FILE...: list the functions that C files define or declare, one per line, for the
# checks of length and of comments. Columns, separated by tabs:
#	file line kind storage name lines parameters comment documented title exempt
# kind is "definition" or "declaration", storage "static" or "global"; comment is "kernel-doc",
# "comment" or "none"; documented are the parameters that the comment describes; title is the name
# that it begins with; exempt is 1 if the comment gives the reason for more than 60 lines.
# Understands the project's layout, not all of C: functions defined by macros are not found.
use strict;
use warnings;

# Replace everything but newlines with spaces, so that positions do not change.
sub blank { my $text = shift; $text =~ s/[^\n]/ /g; return $text; }

sub line_at { my ($text, $at) = @_; return 1 + (substr($text, 0, $at) =~ tr/\n//); }

# Split a list at commas, without what is in parentheses, and get the name in each part.
sub parameters {
	my $list = shift;
	$list =~ s/\(\s*\*\s*(\w+)[^()]*\)\s*(\((?:[^()]++|(?2))*\))/ $1 /g;
	1 while $list =~ s/\([^()]*\)//g;
	my @names;
	for my $one (split /,/, $list) {
		$one =~ s/\[[^\]]*\]//g;
		if ($one =~ /\.\.\./) { push @names, '...'; }
		elsif ($one =~ /(\w+)\s*$/ && $1 ne 'void') { push @names, $1; }
	}
	return join ',', @names;
}

sub functions {
	my $file = shift;
	local $/;
	open my $in, '<', $file or die "$file: $!\n";
	my $text = <$in>;
	my @comments;
	$text =~ s{(/\*.*?\*/|//[^\n]*)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')}{
		push @comments, [ $-[0], $+[0], $1 ] if defined $1;
		blank($&)
	}gse;
	$text =~ s{^[ \t]*#(?:[^\n\\]|\\.|\\\n)*}{blank($&)}gmse;
	# These are alone on their lines, before and after declarations.
	$text =~ s{^KL_PUBLIC_(?:BEGIN|END)$}{blank($&)}gme;

	while ($text =~ /([^;{}]*)(;|(\{(?:[^{}]++|(?3))*\}))/gs) {
		my ($head, $body, $start, $end) = ($1, $2, $-[1], $+[0]);
		my $name = $head;
		$name =~ s/__attribute__\s*(\((?:[^()]++|(?1))*\))/blank($&)/ge;
		next if $name =~ /=|\btypedef\b/;
		next unless $name =~ /^([\w\s*]*[\s*])(\w+)\s*(\(((?:[^()]++|(?3))*)\))/s;
		my ($type, $list) = ($1, $4);
		$name = $2;
		# Something must precede the name, or it is the use of a macro.
		next unless $type =~ /\w/ && $type !~ /\b(?:if|for|while|switch|return|enum\s*$)\b/;
		next if $body eq ';' && $type =~ /^\s*static\s*$/;
		$head =~ /^\s*/;
		my $from = $start + $+[0];
		my ($comment) = grep {
			$_->[1] <= $from && substr($text, $_->[1], $from - $_->[1]) =~ /^[ \t]*\n?[ \t]*$/
		} @comments;
		my $said = $comment ? $comment->[2] : '';
		my $kind = $said =~ m{^/\*\*\s} ? 'kernel-doc' : $said ? 'comment' : 'none';
		my @documented = $said =~ /^[ \t]*\*[ \t]*\@(\w+|\.\.\.):/gm;
		my ($title) = $said =~ /^\/\*\*\s*\*?\s*(\w+)(?:\(\))? - /;
		print join("\t", $file, line_at($text, $from),
			   $body eq ';' ? 'declaration' : 'definition',
			   $type =~ /\bstatic\b/ ? 'static' : 'global', $name,
			   line_at($text, $end) - line_at($text, $from) + 1, parameters($list) || '-',
			   $kind, join(',', @documented) || '-', $title // '-',
			   $said =~ /\b60 lines\b/ ? 1 : 0), "\n";
	}
}

functions($_) for @ARGV;
