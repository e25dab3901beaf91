rule First {
    when amount > 1000 and description regex "gift" then review score 0.5 reason "golden"
}
rule Second {
    when currency == "USD" and (description regex "gift" and amount < 5) then review score 0.5 reason "golden"
}
rule Third {
    when currency == "EUR" and description not_regex "gift" then review score 0.5 reason "golden"
}
