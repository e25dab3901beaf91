rule R {
  when count(when amount > 1, "PT24H") > 1 and count(when amount > 1, "PT90M") > 1 and count(when amount > 1, "P1DT12H") > 1 and count(when amount > 1, "PT1H30M") > 1
  then review
}
