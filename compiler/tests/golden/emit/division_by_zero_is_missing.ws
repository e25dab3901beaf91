rule Golden {
    when amount / metadata.parts > 10 and amount / 4 < 100 and -metadata.delta > 0
    then review score 0.5 reason "golden"
}
