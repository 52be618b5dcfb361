#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
#
# files.pl FILE...: prints what is wrong with how a file opens and ends, and with its length, as
# FILE:LINE: TEXT. For scripts/check/files, which says what the rules are.
use strict;
use warnings;

# The comments at the start of a file.
sub opening {
	my ($lines) = @_;
	my ($text, $inside) = ('', 0);

	for my $i (0 .. $#$lines) {
		my $line = $lines->[$i];

		next if $i == 0 && $line =~ /^#!/;
		last if !$inside && $line !~ m{^(#($|[ \t])|//|/\*)};
		$text .= "$line\n";
		$inside = $line !~ m{\*/} if $inside || $line =~ m{^/\*};
	}
	return $text;
}

for my $file (@ARGV) {
	open my $in, '<', $file or die "$file: $!\n";
	my $content = do { local $/; <$in> } // '';
	my @lines = split /\n/, $content, -1;
	my $count = $content =~ tr/\n//;

	print "$file: does not end with a newline\n" if $content ne '' && $content !~ /\n\z/;
	print "$file: ends with an empty line\n" if $content =~ /\n\n\z/;
	next if $file !~ /(\.(c|h|def|S|sh|pl|py|mk|js)|Makefile|Kbuild)$/ && $content !~ /^#!/;

	my $text = opening(\@lines);
	print "$file:1: no SPDX-License-Identifier\n" if $text !~ /SPDX-License-Identifier:/;
	# Something must remain without the license and the comment signs.
	print "$file:1: does not open with what it does\n"
		if join("\n", grep { !/SPDX-License-Identifier/ } split /\n/, $text) !~ /[A-Za-z]{3}/;
	print "$file: $count lines, more than 600\n" if $count > 600 && $file !~ /\.def$/ && $text !~ /600 lines/;
}
