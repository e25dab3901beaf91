rule R {
  when previous_transaction(within: "PT1H", time_window: "PT2H", match: { source: "a" })
  then review
}
