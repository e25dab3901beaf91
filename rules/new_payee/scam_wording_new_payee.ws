rule scam_wording_new_payee {
    description "The text of a first payment sounds like a scammer's script: safe account, customs fee, inheritance, release of a parcel."
    when amount >= 100
        and destination != ""
        and description regex "(?i)\b(safe account|secure account|customs (fee|duty)|inheritance|release fee|tax debt|bail)\b"
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            status: "applied",
        })
    then alert
        score 0.4
        reason "Wording typical of scams. Send the customer the warning on this kind of scam."
}
