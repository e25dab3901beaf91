rule deposits_at_many_branches {
    description "Cash paid into one account at three or more branches within a day: a courier making the round so that no teller sees the sum."
    when metadata.type == "cash_deposit"
        and amount >= 500
        and not (metadata.declared_monthly_cash >= 25000)
        and distinct(metadata.branch_id where destination == $current.destination
                                          and metadata.type == 'cash_deposit'
                                          and metadata.branch_id != $current.metadata.branch_id
                                          and not (status in ("canceled", "cancelled", "charged_back", "declined",
                                                              "expired", "failed", "lapsed", "refunded", "rejected",
                                                              "reversed", "void", "voided")), "P1D") >= 2
    then review
        score 0.75
        reason "Cash deposited at three branches within a day. Ask the branches who came to the counter."
}
