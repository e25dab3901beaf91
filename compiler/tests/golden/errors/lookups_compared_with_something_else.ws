rule R {
  when previous_transaction(within: "PT1H", match: { source: "a" }) == 1 and previous_transaction(within: "PT1H", match: { source: "a" }) > 5 and previous_transaction(within: "PT1H", match: { source: "a" }) + 1 > 2
  then review
}
