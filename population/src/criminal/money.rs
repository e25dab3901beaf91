//! Sums of money in the currencies of the population.

/// Returns what costs one euro in the euro area, in another currency, by the price of everyday things.
pub(super) fn level(currency: &str) -> f64 {
    match currency {
        "GBP" => 0.85,
        "USD" => 1.1,
        "NGN" => 400.0,
        "JPY" => 90.0,
        "KWD" => 0.28,
        _ => 1.0,
    }
}

/// Returns the currency of a country.
pub(super) fn currency_of(country: &str) -> &'static str {
    match country {
        "GB" => "GBP",
        "US" => "USD",
        "NG" => "NGN",
        "JP" => "JPY",
        "KW" => "KWD",
        _ => "EUR",
    }
}

/// Returns a sum near to `value`, as people type it: fives, tens, fifties or hundreds by its size.
pub(super) fn neat(value: f64, currency: &str) -> f64 {
    let coin = match currency {
        "NGN" => 500.0,
        "JPY" => 100.0,
        "KWD" => 0.5,
        _ => 1.0,
    };
    let coins = value / coin;
    let step = match coins {
        _ if coins < 40.0 => 1.0,
        _ if coins < 300.0 => 5.0,
        _ if coins < 2_000.0 => 10.0,
        _ if coins < 6_000.0 => 50.0,
        _ => 100.0,
    };
    ((coins / step).round() * step).max(1.0) * coin
}

/// Returns the sum of cash or of a transfer that banks report, if criminals of that country know one.
///
/// USA: 31 CFR 1010.311. Euro area: cash limit of Directive (EU) 2015/849. Nigeria: Money Laundering
/// (Prevention and
/// Prohibition) Act 2022, for persons.
pub(super) fn reporting_limit(currency: &str) -> Option<f64> {
    match currency {
        "EUR" | "USD" => Some(10_000.0),
        "NGN" => Some(5_000_000.0),
        _ => None,
    }
}
