rule R {
  when score > 1 and reason == "x" and allow == true and count == 5 and description regex "y" and where == match
  then review
}
