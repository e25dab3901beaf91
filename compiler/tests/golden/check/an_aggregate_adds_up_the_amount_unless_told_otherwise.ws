rule R {
  when sum(when source == $current.source, "P7D") > sum(metadata.fee when source == $current.source, "P7D")
  then review
}
