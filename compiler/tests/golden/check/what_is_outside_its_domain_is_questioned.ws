rule R {
  when hour_of_day(timestamp) > 23 or hour_of_day(timestamp) >= 0 or count(when amount > 1, "PT1H") < 0 or 7 == day_of_week(timestamp) or month_of_year(timestamp) != 13 or day_of_week(timestamp) == "Mon" or day_of_week(timestamp) > "Monday"
  then review
}
