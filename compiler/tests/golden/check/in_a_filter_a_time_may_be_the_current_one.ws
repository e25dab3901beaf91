rule R {
  when count(when hour_of_day(timestamp) == hour_of_day($current.timestamp) and source in $current.metadata.linked, "P30D") > 2
  then review
}
