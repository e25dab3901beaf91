# A rule.
rule R { // name
  when amount # field
    > // operator
    5 then review } // end
# The end.