rule R {
  when $current.amount > 5 and source == "$current.destination" and hour_of_day($current.timestamp) > 5 and currency in ("USD", $current.metadata.home) and source in $current.metadata.known
  then review
}
