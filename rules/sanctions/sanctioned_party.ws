// Nothing overrides a block: the severest verdict wins, whatever other rules say.
rule sanctioned_party {
    description "Payer or payee is on the sanctions list: the payment is refused by law, without regard to its size."
    when source in $sanctioned_accounts or destination in $sanctioned_accounts
    then block
        score 1.0
        reason "A party is on the sanctions list. Refuse, freeze the funds and inform compliance; do not tell the customer why."
}
