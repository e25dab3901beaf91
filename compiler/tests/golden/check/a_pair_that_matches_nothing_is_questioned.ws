rule R {
  when previous_transaction(within: "PT1H", match: { amount: "much", colour: "red", inflight: 5, source: $current.surce })
  then review
}
