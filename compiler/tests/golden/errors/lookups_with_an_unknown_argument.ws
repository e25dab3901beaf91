rule R {
  when previous_transaction(withn: "PT1H", match: { source: "a" }) or previous_transaction(within: "PT1H", match: { source: "a" }, limit: 5)
  then review
}
