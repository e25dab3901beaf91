rule R {
  when source == "$current..a" and previous_transaction(within: "PT1H", match: { "a.": 1 })
  then review
}
