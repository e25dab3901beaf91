rule R {
  when amount == "100" and metadata.code == "0042" and count(when amount > 1, "PT1H") > "5"
  then review
}
