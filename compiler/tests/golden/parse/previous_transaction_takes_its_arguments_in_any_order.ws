rule R {
  when previous_transaction(match: { source: "$current.source", "meta_data.card": $current.metadata.card, metadata.n: -1, status: 'failed', }, time_window: "PT1H",) == true
  then review
}
