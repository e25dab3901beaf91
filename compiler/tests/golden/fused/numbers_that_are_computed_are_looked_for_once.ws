rule First {
    when currency == "USD" and amount * 2 in $limits then review score 0.5 reason "golden"
}
rule Second {
    when currency == "EUR" and amount * 2 not_in $limits then review score 0.5 reason "golden"
}
