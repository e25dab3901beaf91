rule Golden {
    when source in $watched and currency not_in ("EUR", "USD") and amount * 2 in $current.metadata.limits
    then review score 0.5 reason "golden"
}
