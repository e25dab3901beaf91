rule R {
  when sum(metadata.fee when source == $current.source and status != "failed", "P1D") > 5
  then review
}
