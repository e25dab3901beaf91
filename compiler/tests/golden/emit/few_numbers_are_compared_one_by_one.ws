rule Golden {
    when amount in (1, 2, "3.0", "x") and hour_of_day(timestamp) not_in (22, 23)
    then review score 0.5 reason "golden"
}
