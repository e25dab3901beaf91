rule R {
  when source == destination and amount > metadata.daily_limit
  then review
}
