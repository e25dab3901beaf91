// Two times compare as times, whatever their offsets. A date is a whole day: the document is valid until that day is over in UTC.
// A text that states no time has no order and never matches.
rule expired_identity_document {
    description "The identity document on file expired before this payment was made: the customer is no longer identified as the law asks."
    when metadata.identity.document_expires_at < created_at
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 300)
             or (currency == "JPY" and amount > 30000)
             or (currency == "KWD" and amount > 90)
             or (currency == "NGN" and amount > 120000))
    then review
        score 0.4
        reason "Identity document expired. Ask the customer to upload a valid one; release afterwards."
}
