rule R {
  when previous_transaction(within: "P1D", match: { "meta_data.card-id": "$current.metadata.card-id", amount: 5, inflight: true, description: "x", created_at: $current.effective_date })
  then review
}
