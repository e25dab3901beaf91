rule Night {
  when hour_of_day(timestamp) >= 23 or hour_of_day(timestamp) < 5
  then alert
}
