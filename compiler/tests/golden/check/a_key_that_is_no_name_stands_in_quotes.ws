rule R {
  when metadata."device-id" == "d-1" and meta_data.card."3ds.result" == $current.metadata."größe"
    and count(when metadata."device-id" == $current.metadata."device-id", "PT1H") > 1
    and previous_transaction(within: "P1D", match: { metadata."device-id": $current.metadata."device-id", "metadata.a@b": 1 })
    and sum(metadata."fee-net" when source == $current.source, "PT1H") > 5
  then review
}
