rule Golden {
    when source == destination and amount > metadata.limit and amount >= amount
    then review score 0.5 reason "golden"
}
