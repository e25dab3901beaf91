rule R {
  when previous_transaction() or previous_transaction(within: "PT1H") or previous_transaction(match: { source: "a" })
  then review
}
