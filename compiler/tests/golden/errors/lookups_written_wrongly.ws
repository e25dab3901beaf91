rule R {
  when previous_transaction("PT1H", { source: "a" }) or previous_transaction(within "PT1H", match: { source: "a" }) or previous_transaction(within: "PT1H" match: { source: "a" }) or previous_transaction(within: "PT1H", match: source) or previous_transaction(within: "PT1H", match: { source "a" }) or previous_transaction(within: "PT1H", match: { 5: "a" })
  then review
}
