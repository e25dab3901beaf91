rule R {
  when count(when sum(when amount > 1, "PT1H") > 5 and previous_transaction(within: "PT1H", match: { a: 1 }), "PT1H") > 5
  then review
}
