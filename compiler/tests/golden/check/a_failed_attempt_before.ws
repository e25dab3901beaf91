rule Retry {
  when previous_transaction(within: "PT1H", match: { source: "$current.source", status: "failed" })
  then review score 0.8
}
