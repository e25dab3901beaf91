rule R {
  when previous_transaction(within: "PT1H", match: {})
  then review
}
