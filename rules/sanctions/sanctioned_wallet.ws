// Texts compare to the letter: list and caller both write addresses in lower case.
rule sanctioned_wallet {
    description "A crypto payment goes to or comes from a listed wallet, or from one that a listed wallet has filled: refused by law."
    when metadata.wallet in $sanctioned_wallets
        or metadata.funding_wallet in $sanctioned_wallets
    then deny
        score 1
        reason "The wallet belongs to a sanctioned party. Refuse and inform compliance."
}
