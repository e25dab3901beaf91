rule Golden {
    when metadata.limit > "100" and metadata.limit != "0042" and amount == "42.0"
    then review score 0.5 reason "golden"
}
