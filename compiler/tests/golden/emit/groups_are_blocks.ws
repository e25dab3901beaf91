rule Golden {
    when (amount > 10 or currency == "USD") and not (source == "a" and destination == "b")
    then review score 0.5 reason "golden"
}
