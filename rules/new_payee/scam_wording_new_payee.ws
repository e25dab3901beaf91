// A first small fee makes the payee no friend: what was paid within the last two weeks does not count. The word "bail"
// alone is a lease in French, and theatres are bailed out.
rule scam_wording_new_payee {
    description "The text of a payment to a payee not known for two weeks sounds like a scammer's script: safe account, customs fee, release of a parcel."
    when ((currency not_in ("JPY", "KWD", "NGN") and amount > 20)
          or (currency == "JPY" and amount > 2000)
          or (currency == "KWD" and amount > 6)
          or (currency == "NGN" and amount > 8000))
        and destination != ""
        and description regex "(?i)\b(safe account|secure account|customs (fee|duty|release|insurance)|inheritance (tax|fee)|release fee|tax debt|bail (money|bond|fee|payment|for)|(his|her|my|post|pay) bail)\b"
        and count(when source == $current.source
                       and destination == $current.destination
                       and stage == "settled", "P365D")
          == count(when source == $current.source
                        and destination == $current.destination
                        and stage == "settled", "P14D")
    then review
        score 0.6
        reason "Wording typical of scams. Ask the customer who told them to pay before it is released."
}
