//! Shops and other businesses that take cards.
//!
//! Merchant category codes are those of ISO 18245. Typical sales are rounded from household budget surveys (Eurostat HBS)
//! and from the values a purchase in the ECB's SPACE study; the rest is general knowledge.

use chrono::{Days, NaiveDate};

use super::place::{PLACES, Place};
use super::roll::{Roll, account, code, hash};
use crate::Merchant;
use crate::dice::dice;

/// A kind of shop.
#[derive(Debug)]
pub(super) struct Ware {
    /// Merchant category code.
    pub(super) mcc: &'static str,
    /// What the payment says.
    pub(super) text: &'static str,
    /// Median sale in euros.
    pub(super) price: f64,
    /// How far sales spread around the median.
    pub(super) spread: f64,
    /// Residents that share one shop of this kind.
    residents: usize,
    /// What an online order says of the goods.
    pub(super) goods: &'static str,
    /// Whether travellers need it.
    travel: bool,
}

macro_rules! wares {
    ($($name:ident $mcc:literal $text:literal $price:literal $spread:literal $residents:literal $goods:literal $travel:literal;)*) => {
        $(
            #[doc = concat!("Shops of the code ", $mcc, ": ", $text, ".")]
            pub(super) static $name: Ware = Ware {
                mcc: $mcc, text: $text, price: $price, spread: $spread, residents: $residents, goods: $goods, travel: $travel,
            };
        )*
        /// Every kind of shop.
        pub(super) static WARES: &[&Ware] = &[$(&$name),*];
    };
}

wares! {
    GROCERY "5411" "groceries" 22.0 1.3 8 "groceries" true;
    COFFEE "5814" "coffee" 4.2 0.6 12 "food" true;
    LUNCH "5814" "lunch" 11.0 0.5 20 "food" true;
    RESTAURANT "5812" "restaurant" 38.0 0.9 15 "food" true;
    TRANSIT "4111" "bus ticket" 2.9 0.3 60 "tickets" true;
    TAXI "4121" "taxi" 17.0 0.8 40 "tickets" true;
    FUEL "5542" "fuel" 58.0 0.4 30 "fuel" true;
    PHARMACY "5912" "pharmacy" 14.0 0.9 40 "health" true;
    CLOTHING "5651" "clothing" 52.0 1.0 25 "clothing" true;
    BOOKS "5942" "books" 19.0 0.6 60 "books" false;
    ELECTRONICS "5732" "electronics" 95.0 1.6 50 "electronics" false;
    FURNITURE "5712" "furniture" 180.0 1.4 80 "furniture" false;
    JEWELLER "5944" "jeweller" 120.0 1.2 120 "jewellery" false;
    BAR "5813" "bar" 14.0 0.9 30 "food" true;
    AIRLINE "4511" "flight" 190.0 0.9 150 "tickets" true;
    RAIL "4112" "train ticket" 39.0 0.9 80 "tickets" true;
    HOTEL "7011" "hotel" 240.0 0.8 60 "lodging" true;
    AGENCY "4722" "holiday" 1900.0 0.7 150 "travel" false;
    STREAMING "5815" "subscription" 11.0 0.4 70 "digital" false;
    GAMES "5816" "game" 9.0 1.0 90 "digital" false;
    MARKETPLACE "5399" "online order" 31.0 1.2 25 "household" false;
    PARKING "7523" "parking" 4.0 0.9 40 "parking" true;
    VENDING "5499" "vending machine" 1.8 0.4 60 "food" true;
    KIOSK "5441" "sweets" 2.2 0.5 50 "food" false;
    CINEMA "7832" "cinema" 21.0 0.5 80 "tickets" false;
    GYM "7997" "gym membership" 35.0 0.3 60 "sport" false;
    HARDWARE "5200" "hardware store" 34.0 1.2 50 "household" false;
    TOYS "5945" "toys" 26.0 0.7 60 "toys" false;
    HAIRDRESSER "7230" "hairdresser" 34.0 0.5 50 "service" false;
    LOTTERY "7995" "lottery" 9.0 0.5 120 "lottery" false;
    CARHIRE "7512" "car hire" 160.0 0.6 150 "travel" true;
    TOLL "4784" "toll" 7.0 0.6 120 "tickets" false;
}

/// Codes of shops that are young, seasonal, newly launched, or a stall on a market.
pub(super) const YOUNG: &str = "5977";
/// A shop with a season: flowers and decoration.
pub(super) const SEASONAL: &str = "5992";
/// A maker of software that sells a new version on a launch day.
pub(super) const LAUNCH: &str = "5734";
/// A stall on a weekly market.
pub(super) const STALL: &str = "5422";

const ONLY_AT_HOME: [(&str, f64); 4] = [(YOUNG, 24.0), (SEASONAL, 29.0), (LAUNCH, 39.0), (STALL, 9.5)];

/// Returns the shops that a number of customers needs.
pub(super) fn all(seed: u64, n_customers: usize, start: NaiveDate) -> Vec<Merchant> {
    let mut shops = Vec::new();
    for (place, ware) in PLACES.iter().flat_map(|place| WARES.iter().map(move |ware| (place, *ware))) {
        if place.share <= 0.0 && !ware.travel {
            continue;
        }
        for number in 0..=residents(place, n_customers) / ware.residents {
            shops.push(shop(seed, place, ware, number, start));
        }
    }
    for (mcc, ticket) in ONLY_AT_HOME {
        for number in 0..=n_customers / 400 {
            let name = format!("special {mcc} {number}");
            let place = super::place::at_share(super::roll::spread(seed, &name, 0) * 0.6);
            let age = if mcc == YOUNG { 12 } else { 700 };
            shops.push(merchant(seed, &name, place, mcc, ticket, day_before(start, age)));
        }
    }
    shops
}

fn residents(place: &Place, n_customers: usize) -> usize {
    let all = u32::try_from(n_customers).unwrap_or(u32::MAX);
    usize::try_from(super::roll::whole(f64::from(all) * place.share / 100.0)).unwrap_or_default()
}

fn shop(seed: u64, place: &'static Place, ware: &Ware, number: usize, start: NaiveDate) -> Merchant {
    let name = format!("shop {} {} {} {number}", place.country, ware.mcc, ware.text);
    let mut dice = dice(seed, &name, 0);
    let age = if dice.chance(0.07) { dice.count(20, 300) } else { dice.count(300, 3_500) };
    let ticket = place.price(dice.around(ware.price * 1.1, 0.3));
    merchant(seed, &name, place, ware.mcc, ticket, day_before(start, u64::from(age)))
}

fn merchant(
    seed: u64,
    name: &str,
    place: &Place,
    mcc: &'static str,
    declared_average_ticket: f64,
    boarded_on: NaiveDate,
) -> Merchant {
    let settlement = match (place.country, hash(seed, name) % 2) {
        ("NG", _) => "settlement-ng-1",
        (_, 0) => "settlement-eu-1",
        _ => "settlement-eu-2",
    };
    Merchant {
        id: format!("mer-{}", code(seed, name, 8)),
        settlement_account: settlement.to_owned(),
        account: account(seed, name),
        mcc,
        country: place.country,
        currency: place.currency,
        declared_average_ticket,
        boarded_on,
    }
}

fn day_before(start: NaiveDate, days: u64) -> NaiveDate {
    start.checked_sub_days(Days::new(days)).unwrap_or(start)
}
