rule R {
  // ‮ hidden
  when currency == "U⁦SD" and amount >  5
  then review
}
