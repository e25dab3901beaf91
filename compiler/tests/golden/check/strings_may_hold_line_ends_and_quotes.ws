rule R {
  description "first
second \"quoted\""
  when description == "a
b"
  then review reason "back\\slash \n"
}
