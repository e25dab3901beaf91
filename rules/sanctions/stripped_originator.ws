rule stripped_originator {
    description "The name of the originator is missing in all but form: payment details are stripped to get past name screening."
    when metadata.type == "wire"
        and metadata.originator_name regex "(?i)^\s*(unknown|none|n/?a|test|(one of )?(our )?(clients?|customers?)|[-.x\s]*)\s*$"
    then review
        score 0.7
        reason "Originator not named. Send the payment back for complete details; screen the name when it arrives."
}
