rule Golden {
    when "vip" in $current.metadata.tags and true not_in $current.metadata.flags and 42 in $current.metadata.limits
    then review score 0.5 reason "golden"
}
