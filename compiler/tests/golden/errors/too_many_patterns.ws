rule R {
  when description regex "p0" or description regex "p1" or description regex "p2" or description regex "p3" or description regex "p4" or description regex "p5" or description regex "p6" or description regex "p7" or description regex "p8" or description regex "p9" or description regex "p10" or description regex "p11" or description regex "p12" or description regex "p13" or description regex "p14" or description regex "p15" or description regex "p16" or description regex "p17"
  then review
}
