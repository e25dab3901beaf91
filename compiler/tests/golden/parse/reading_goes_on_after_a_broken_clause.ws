rule R {
  descripton "x"
  when amount > 5
  then review score high reason "r"
}
