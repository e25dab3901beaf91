rule Golden {
    when metadata.a + 1 != metadata.b and amount != 42 and metadata.a != 42
    then review score 0.5 reason "golden"
}
