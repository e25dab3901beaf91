rule R {
  when hour_of_day() > 1 and hour_of_day("2026-01-01") > 1 and hour_of_day(timestamp, UTC) > 1 and hour_of_day(timestamp + 1) > 1 and hour_of_day($list) > 1 and hour_of_day(hour_of_day(timestamp)) > 1
  then review
}
