//! Countries: currency, time of day, level of prices and income.
//!
//! Median net incomes are rounded from national statistics: Destatis, INSEE, CBS, CSO, ONS, the Japanese Basic
//! Survey on Wage Structure, and the US Census. For Nigeria and Kuwait they are estimates (general knowledge).
//! The level of prices follows what an ordinary lunch costs, in the manner of the price comparisons of Eurostat and OECD.

/// A country that people live in or travel to.
#[derive(Debug)]
pub(super) struct Place {
    /// ISO 3166-1 code.
    pub(super) country: &'static str,
    /// ISO 4217 code.
    pub(super) currency: &'static str,
    /// Hours that its clocks are ahead of UTC.
    pub(super) offset: f64,
    /// What costs 1 in Germany costs this much here, in the currency of the country.
    pub(super) prices: f64,
    /// Smallest step of prices.
    pub(super) step: f64,
    /// Median net income a month.
    pub(super) income: f64,
    /// Share of customers who live there, in percent.
    pub(super) share: f64,
    /// First names.
    first: &'static [&'static str],
    /// Family names.
    last: &'static [&'static str],
}

const EUR: Place = Place {
    country: "DE",
    currency: "EUR",
    offset: 1.0,
    prices: 1.0,
    step: 0.01,
    income: 2_500.0,
    share: 0.0,
    first: &["anna", "lukas", "mia", "jonas", "petra", "uwe", "lea", "tim", "sabine", "karl"],
    last: &["bauer", "schulz", "weber", "krause", "vogel", "brandt", "kuhn", "seidel"],
};

static FRENCH: &[&str] = &["camille", "louis", "chloe", "hugo", "manon", "paul", "sylvie", "jean"];

/// All countries; those of share 0 are only travelled to.
pub(super) static PLACES: [Place; 13] = [
    Place { share: 24.0, ..EUR },
    Place {
        country: "FR",
        income: 2_200.0,
        share: 15.0,
        first: FRENCH,
        last: &["martin", "petit", "moreau", "girard", "roux", "fontaine", "blanc"],
        ..EUR
    },
    Place {
        country: "NL",
        prices: 1.05,
        income: 2_800.0,
        share: 13.0,
        first: &["daan", "sanne", "bram", "femke", "jan", "lotte", "ruud", "anouk"],
        last: &["devries", "jansen", "bakker", "visser", "smit", "mulder", "bos"],
        ..EUR
    },
    Place {
        country: "IE",
        offset: 0.0,
        prices: 1.15,
        income: 2_900.0,
        share: 9.0,
        first: &["aoife", "sean", "niamh", "conor", "ciara", "eoin", "maeve"],
        last: &["murphy", "kelly", "byrne", "walsh", "doyle", "nolan"],
        ..EUR
    },
    Place {
        country: "ES",
        prices: 0.85,
        income: 1_800.0,
        share: 11.0,
        first: &["lucia", "pablo", "carmen", "javier", "marta", "diego", "lola"],
        last: &["garcia", "lopez", "navarro", "ruiz", "molina", "ortega"],
        ..EUR
    },
    Place {
        country: "GB",
        currency: "GBP",
        offset: 0.0,
        prices: 0.9,
        income: 2_300.0,
        share: 10.0,
        first: &["oliver", "amelia", "harry", "isla", "margaret", "george", "priya"],
        last: &["smith", "taylor", "evans", "patel", "wright", "hughes"],
        ..EUR
    },
    Place {
        country: "NG",
        currency: "NGN",
        prices: 400.0,
        step: 50.0,
        income: 450_000.0,
        share: 10.0,
        first: &["chidi", "amaka", "tunde", "ngozi", "emeka", "aisha", "bola", "yusuf"],
        last: &["okafor", "adeyemi", "bello", "eze", "balogun", "ibrahim"],
        ..EUR
    },
    Place {
        country: "JP",
        currency: "JPY",
        offset: 9.0,
        prices: 85.0,
        step: 10.0,
        income: 260_000.0,
        share: 3.0,
        first: &["haruto", "yui", "sota", "aoi", "kenji", "keiko"],
        last: &["sato", "suzuki", "tanaka", "ito", "kobayashi"],
    },
    Place {
        country: "KW",
        currency: "KWD",
        offset: 3.0,
        prices: 0.23,
        step: 0.025,
        income: 700.0,
        share: 2.0,
        first: &["fahad", "noura", "khaled", "dana"],
        last: &["alrashid", "almutairi", "alenezi"],
    },
    Place {
        country: "US",
        currency: "USD",
        offset: -5.0,
        step: 0.01,
        prices: 1.3,
        income: 3_700.0,
        share: 3.0,
        first: &["emma", "liam", "ava", "noah", "linda", "james"],
        last: &["johnson", "miller", "davis", "wilson", "moore"],
    },
    Place { country: "AT", ..EUR },
    Place { country: "BE", first: FRENCH, ..EUR },
    Place { country: "IT", prices: 0.95, ..EUR },
];

/// Returns the country of this code.
pub(super) fn place(country: &str) -> &'static Place {
    static FALLBACK: Place = EUR;
    PLACES.iter().find(|place| place.country == country).unwrap_or(&FALLBACK)
}

/// Returns the country at this share (0 to 1) of the customers.
pub(super) fn at_share(share: f64) -> &'static Place {
    let mut left = share * PLACES.iter().map(|place| place.share).sum::<f64>();
    for place in &PLACES {
        left -= place.share;
        if left < 0.0 {
            return place;
        }
    }
    place("DE")
}

impl Place {
    /// Returns what something costs here that costs this many euros in Germany.
    pub(super) fn price(&self, euros: f64) -> f64 {
        self.rounded(euros * self.prices)
    }

    /// Returns an amount as shops here would ask it.
    pub(super) fn rounded(&self, value: f64) -> f64 {
        ((value / self.step).round() * self.step).max(self.step)
    }

    /// Returns an amount as people would transfer it: whole, and in steps of five when it is larger.
    pub(super) fn even(&self, euros: f64) -> f64 {
        let step = if euros < 30.0 { 1.0 } else { 5.0 } * if self.prices < 0.5 { 0.25 } else { 1.0 };
        let step = if self.prices > 10.0 { self.step * 10.0 } else { step };
        ((euros * self.prices / step).round() * step).max(step)
    }

    /// Returns a first and a family name, by two numbers.
    pub(super) fn name(&self, one: u64, other: u64) -> (&'static str, &'static str) {
        let first = super::roll::nth(self.first, one).copied().unwrap_or("sam");
        (first, super::roll::nth(self.last, other).copied().unwrap_or("field"))
    }
}
