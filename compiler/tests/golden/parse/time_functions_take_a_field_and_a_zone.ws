rule R {
  when hour_of_day(timestamp) >= 23 and day_of_week($current.created_at, "Africa/Lagos") in ("Saturday", "Sunday")
  then review
}
