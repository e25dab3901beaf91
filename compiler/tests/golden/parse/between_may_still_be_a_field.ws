rule R {
  when between between between and between
  then review
}
