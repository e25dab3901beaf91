// Addresses compare to the letter, so the caller sends them in lower case.
rule email_charge_velocity {
    description "A sixth charge within an hour under one email address: a list of cards with a single made-up customer behind it."
    when metadata.email regex "@"
        and count(when metadata.email == $current.metadata.email, "PT1H") >= 5
    then deny
        score 0.8
        reason "More than five charges for one email address within an hour. Refuse, and compare the cards used."
}
