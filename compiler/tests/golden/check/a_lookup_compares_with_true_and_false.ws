rule R {
  when previous_transaction(within: "PT1H", match: { source: $current.source }) == false
    and previous_transaction(within: "PT2H", match: { source: $current.source }) != true
    and previous_transaction(within: "PT3H", match: { source: $current.source }) == true
    and previous_transaction(within: "PT4H", match: { source: $current.source }) != false
    and true == previous_transaction(within: "PT5H", match: { source: $current.source })
    and not previous_transaction(within: "PT6H", match: { source: $current.source })
  then review
}
