// The language joins no texts, so the caller sends the pair ready made: payer, `>`, payee. A rule that allows leaves a
// trace in the record; it never softens what another rule says.
rule trusted_pair {
    description "Payer and payee were looked into before and found in order: recorded, so that an analyst sees it beside other findings."
    when metadata.pair in $trusted_pairs
    then allow
        reason "Known pair, cleared by an analyst earlier."
}
