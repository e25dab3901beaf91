// A family tablet is new to each of its accounts only once.
rule device_shared_by_accounts {
    description "One device pays from three or more accounts within three hours, and is new to this one: a thief working through a list."
    when metadata.device_id != ""
        and not (metadata.device_kind == "agent_terminal")
        and distinct(source when metadata.device_id == $current.metadata.device_id and source != $current.source, "PT3H") >= 2
        and not previous_transaction(within: "P180D", match: {
            source: "$current.source",
            metadata.device_id: "$current.metadata.device_id",
            stage: "settled",
        })
    then review
        score 0.75
        reason "Third account on one device within three hours. Review all accounts seen on it together."
}
