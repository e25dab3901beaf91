rule R {
  when count(when source == "0", "PT1H") > 5 or count(when source == "1", "PT1H") > 5 or count(when source == "2", "PT1H") > 5 or count(when source == "3", "PT1H") > 5 or count(when source == "4", "PT1H") > 5 or count(when source == "5", "PT1H") > 5 or count(when source == "6", "PT1H") > 5 or count(when source == "7", "PT1H") > 5 or count(when source == "8", "PT1H") > 5 or count(when source == "9", "PT1H") > 5 or count(when source == "10", "PT1H") > 5 or count(when source == "11", "PT1H") > 5 or count(when source == "12", "PT1H") > 5 or count(when source == "13", "PT1H") > 5 or count(when source == "14", "PT1H") > 5 or count(when source == "15", "PT1H") > 5 or count(when source == "16", "PT1H") > 5 or count(when source == "0", "PT1H") > 6
  then review
}
