rule watch_list_party {
    description "Payer or payee is on the watch list: nothing is proven, the payment goes through, an analyst hears of it."
    when source in $watch_list or destination in $watch_list
    then alert
        score 0.3
        reason "A watched party moves money. Add the payment to the open file."
}
