rule malformed_bank_identifier {
    description "The bank identifier of a wire is none: a typing error at best, a disguised bank at worst."
    when metadata.type == "wire"
        and metadata.bank_identifier not_regex "^[A-Z]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?$"
    then review
        score 0.6
        reason "Bank identifier not well formed. Correct it with the customer before the payment is sent on."
}
