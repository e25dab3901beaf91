rule device_shared_by_accounts {
    description "One device pays from three or more accounts within an hour: a thief working through a list, or a shop counter."
    when metadata.device_id != ""
        and not (metadata.device_kind == "agent_terminal")
        and distinct(source when metadata.device_id == $current.metadata.device_id
                             and source != $current.source, "PT1H") >= 2
    then review
        score 0.75
        reason "Third account on one device within an hour. Review all accounts seen on it together."
}
