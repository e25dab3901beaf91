rule Ratio {
  when amount > 3 * avg(when source == $current.source, "P30D") and count(when source == $current.source, "P30D") >= 10
  then review score 0.65
}
