//! Amounts of money, exact.

use std::fmt;

/// Number of decimals of a currency, by ISO 4217.
#[must_use]
pub fn decimals(currency: &str) -> u32 {
    match currency {
        "JPY" | "KRW" | "CLP" | "VND" | "UGX" => 0,
        "KWD" | "BHD" | "OMR" | "TND" => 3,
        _ => 2,
    }
}

/// An amount in the smallest unit of its currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount {
    /// Smallest units: cents of a euro, yen, thousandths of a dinar.
    pub units: u64,
    /// Decimals of the currency.
    pub decimals: u32,
}

impl Amount {
    /// Returns the amount nearest to this many of the currency's main unit; at least one smallest unit.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "amounts of people are far below 2^53 units"
    )]
    pub fn of(value: f64, currency: &str) -> Self {
        let decimals = decimals(currency);
        let units = (value * f64::from(10_u32.pow(decimals))).round().max(1.0) as u64;
        Self { units, decimals }
    }

    /// Returns the amount as a number of the main unit, for arithmetic that need not be exact.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "amounts of people are far below 2^53 units")]
    pub fn value(self) -> f64 {
        self.units as f64 / f64::from(10_u32.pow(self.decimals))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = 10_u64.pow(self.decimals);
        let (whole, rest) = (self.units / scale, self.units % scale);
        match usize::try_from(self.decimals) {
            Ok(width) if width > 0 => write!(f, "{whole}.{rest:0width$}"),
            _ => write!(f, "{whole}"),
        }
    }
}
