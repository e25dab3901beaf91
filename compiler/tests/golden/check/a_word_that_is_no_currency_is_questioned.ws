rule Currencies {
  when (currency == "usd" or currency in ("EURO", "jpy", "978") or "US$" != currency)
   and count(when currency == "Usdt", "P1D") > 1
   and previous_transaction(within: "P1D", match: { currency: "BITCOIN" })
   and currency regex "^EURO" and metadata.currency == "EURO"
  then review
}
