rule R {
  when hour_of_day(timestamp, "Africa/Lagso") > 1 and hour_of_day(timestamp, "europe/berlin") > 1 and hour_of_day(timestamp, "Mars") > 1
  then review
}
