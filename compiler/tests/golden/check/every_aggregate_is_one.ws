rule R {
  when count(when amount > 1, "P1D") > 1 and sum(when amount > 1, "P1D") > 1 and avg(when amount > 1, "P1D") > 1 and min(when amount > 1, "P1D") > 1 and max(when amount > 1, "P1D") > 1 and distinct(destination when amount > 1, "P1D") > 1 and stddev(metadata.fee when amount > 1, "P1D") > 1
  then review
}
