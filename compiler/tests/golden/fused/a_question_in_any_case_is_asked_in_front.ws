rule Burst {
    when count(when source == $current.source, "PT1H") > 5 then review score 0.5 reason "golden"
}
rule Large_burst {
    when amount > 1000 and count(when source == $current.source, "PT1H") > 3 then review score 0.5 reason "golden"
}
