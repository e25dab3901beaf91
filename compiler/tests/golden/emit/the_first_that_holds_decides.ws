rule Golden {
    when amount >= 1000 or status == "failed" or previous_transaction(within: "P1D", match: { status: "failed" })
    then review score 0.5 reason "golden"
}
