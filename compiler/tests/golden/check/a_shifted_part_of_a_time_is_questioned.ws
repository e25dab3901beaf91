rule R {
  when month_of_year(timestamp) - 1 == month_of_year(metadata.opened)
    or hour_of_day(metadata.at) == 1 + hour_of_day(timestamp)
    or day_of_month(timestamp) + 2 > day_of_month(metadata.at)
    or year(timestamp) - 1 == year(metadata.opened)
    or hour_of_day(timestamp) + 3 >= 23
  then review
}
