# Bodies of POST /inject as JSON::PP writes them; the lines are those of bodies.py.
use strict;
use warnings;
use utf8;
use JSON::PP;

my $n = 0;
my $json = JSON::PP->new->utf8->canonical->allow_bignum;

sub emit {
    my ($expected, $field, $body) = @_;
    print join("\t", $expected, $field, unpack('H*', $body)), "\n";
}

sub transaction {
    my %fields = @_;
    $n++;
    return { transaction_id => "perl-$n", amount => 12.5, currency => 'EUR', reference => "r-$n", %fields };
}

sub taken { emit('taken', '-', $json->encode(transaction(@_))); }
sub refused { my $field = shift; emit('refused', $field, $json->encode(transaction(@_))); }

sub nested { my ($depth) = @_; return $depth == 0 ? 1 : { a => nested($depth - 1) }; }

for my $field (qw(created_at effective_date scheduled_for inflight_expiry_date)) {
    taken($field => undef);
    taken($field => '0001-01-01T00:00:00Z');
    taken($field => '0001-01-01T00:00:00+00:00');
    taken($field => '2026-01-31T12:00:00.5-03:00');
    refused($field, $field => 1767323045);
    refused($field, $field => scalar gmtime 1767323045);
    refused($field, $field => '2026-01-31T12:00:00');
    refused($field, $field => '31.01.2026 12:00');
}
for my $field (qw(transaction_id source destination status hash)) {
    taken($field => '');
    taken($field => undef);
    refused($field, $field => 7);
    refused($field, $field => JSON::PP::true);
    refused($field, $field => "a\x{7f}");
}
for my $field (qw(transaction_id source destination)) {
    refused($field, $field => $_) for "acc-1\n", "acc-1 ", "\x{feff}acc-1", "acc\x{2060}-1";
    taken($field => "Konto $field");
}
for my $field (qw(amount currency reference)) {
    refused($field, $field => undef);
    refused($field, $field => []);
}
for my $field (qw(allow_overdraft inflight skip_queue atomic)) {
    taken($field => JSON::PP::false);
    refused($field, $field => 0);
    refused($field, $field => '');
}
taken(amount => $_) for 0, 1e-7, 1e15, 0.1 + 0.2, -25.5, 9007199254740993, '12.50';
# A number that was once read as a text is written as one.
refused('amount', amount => $_) for '12,50', "1e3", '', JSON::PP::true, 1e300;
taken(meta_data => { empty => '', none => undef, nested => nested(20), yes => JSON::PP::true, number => '007' });
taken(meta_data => { map { ("column_$_" => $_) } 1 .. 431 });
refused('meta_data', meta_data => { map { ("column_$_" => $_) } 1 .. 1100 });
refused('meta_data', meta_data => nested(40));
refused('meta_data', meta_data => []);
refused('meta_data', meta_data => '');
taken(description => "line\r\nline\t\x{200f}", reference => "\x{5d0}\x{200f}\n");
taken(description => '', other => [undef, {}], 'x-channel' => 'web');
refused($_, $_ => 'x') for qw(transactionId TransactionID createdAt created-at metaData Meta-Data metadata Currency HASH skipQueue);
emit('refused', '-', "\xef\xbb\xbf" . $json->encode(transaction()));
emit('refused', '-', $json->encode([transaction()]));
emit('refused', '-', JSON::PP->new->latin1->allow_nonref->encode(transaction(description => "\x{e9}")));
emit('taken', '-', JSON::PP->new->ascii->encode(transaction(description => "\x{1f600}")));
emit('taken', '-', $json->pretty->encode(transaction()) =~ s/\n/\r\n/gr);
