rule R {
  when a in ("x", -5, true, $current.b, "$current.c",) and b not_in $current.d and c in $high_risk.tier_1 and d in "$current.e.f"
  then review
}
