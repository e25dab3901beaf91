rule R {
  when count(when source == $current.source and (status in ("failed", "$current.status") or not description regex "x") and metadata.card == "$current.metadata.card" and amount between 5 and $current.amount, "P30D") > 2
  then review
}
