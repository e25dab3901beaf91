rule Among {
    when amount > 5 and metadata.country in ("IR", "KP", "NG") then review score 0.5 reason "golden"
}
rule Beside {
    when metadata.country not_in ("DE", "FR", 7) and currency in ("USD") then review score 0.5 reason "golden"
}
