rule Golden {
    when hour_of_day(timestamp, "Africa/Lagos") >= 23 and day_of_week(timestamp) == "Saturday"
    then review score 0.5 reason "golden"
}
