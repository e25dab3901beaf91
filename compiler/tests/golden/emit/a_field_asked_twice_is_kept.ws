rule Golden {
    when amount > 10 and amount < 100 and status != "failed" and status != "declined"
    then review score 0.5 reason "golden"
}
