rule Golden {
    when currency == "EUR" and amount > 1000 and count(when source == $current.source, "PT1H") >= 3
    then review score 0.5 reason "golden"
}
