rule Golden {
    when currency == "EUR" and status != "failed" and metadata.tier == "gold" and metadata.tier != "silver"
    then review score 0.5 reason "golden"
}
