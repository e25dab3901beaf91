rule R {
  when count(source == $current.source, "PT1H",) > 1 and sum(amount where source == "a", "PT1H") > 2 and count(where where == 1, "PT1H") > 3
  then review
}
