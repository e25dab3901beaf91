rule R {
  when previous_transaction(within: "PT1H", match: { source: source, status: failed, amount: 5 + 5 })
  then review
}
