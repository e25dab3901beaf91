rule R {
  when hour_of_day(timestamp) == 1 and day_of_week(timestamp) == 1 and day_of_month(timestamp) == 1 and day_of_year(timestamp) == 1 and month_of_year(timestamp) == 1 and week_of_year(timestamp) == 1 and year(timestamp, "Africa/Lagos") == 2026
  then review
}
