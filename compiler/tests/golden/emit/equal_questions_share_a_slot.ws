rule Golden {
    when count(when source == $current.source, "PT1H") > 3 and count(when source == $current.source, "PT60M") < 9
    then review score 0.5 reason "golden"
}
