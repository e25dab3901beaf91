rule Large { when amount > 1000 and currency == "USD" then review score 0.5 reason "golden" }
rule Small { when amount < 10 or currency != "EUR" then review score 0.5 reason "golden" }
