//! What a customer's life is like: household, work, income, home, and the days on which something of it changes.
//!
//! A life follows from the seed and the customer's number alone. Twenty customers in a row make up a street: two families,
//! a couple, a flat share, pensioners, people who live alone. Shares follow the household statistics of Eurostat (EU-SILC).
//! Incomes of groups are relative to the median: pensions 0.6, students 0.35 (Eurostudent), self-employed 1.1.

use super::place::{Place, at_share};
use super::roll::{Roll, account, hash, spread, whole};
use crate::dice::dice;

/// Kinds of lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A parent with children at home.
    Parent,
    /// One of two who share a home.
    Couple,
    /// A student, mostly in a flat share.
    Student,
    /// Somebody who draws a pension.
    Retired,
    /// Somebody who works and lives alone.
    Single,
    /// Keeper of a small shop who takes cash.
    Shopkeeper,
    /// Somebody who lives on invoices.
    Freelancer,
    /// Somebody who works at night.
    NightShift,
    /// Somebody who lives in a country and has obligations in another.
    Expat,
    /// Somebody with four times the median income.
    Wealthy,
    /// An account that is hardly used.
    Dormant,
}

/// How somebody is paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pay {
    /// Once a month by an employer on this day of the month; 31 is the last working day.
    Monthly(String, u32),
    /// Each Friday by a small employer.
    Weekly(String),
    /// A pension on this day of the month.
    Pension(u32),
    /// Student: an allowance from the parents on this day of the month.
    Allowance(u32),
    /// Invoices, takings, or nothing.
    Irregular,
}

/// A customer's life.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) kind: Kind,
    /// Number of the household.
    pub(super) household: usize,
    /// Place in the household; 0 pays the rent.
    pub(super) rank: usize,
    pub(super) place: &'static Place,
    pub(super) age: u32,
    /// Net income a month in the currency of the country.
    pub(super) income: f64,
    pub(super) tier: u8,
    pub(super) pay: Pay,
    /// Rent or mortgage of the household; nothing for those who own their home.
    pub(super) rent: f64,
    /// Day on which the account is opened, if within the days of the population.
    pub(super) opens: Option<i64>,
    /// Day on which a new telephone comes into use.
    pub(super) phone: i64,
    /// Day of a new SIM card.
    pub(super) sim: Option<i64>,
    /// Day of a new password.
    pub(super) password: Option<i64>,
    /// Day of a move to another home.
    pub(super) moves: Option<i64>,
    /// Day on which the identity document expires.
    pub(super) document: i64,
    /// Days after that until it is renewed.
    pub(super) late: i64,
    /// Whether there is a car.
    pub(super) drives: bool,
    /// Whether every journey to work is paid by tapping the card.
    pub(super) taps: bool,
    /// Whether a VPN is always on.
    pub(super) vpn: bool,
    /// Number that stable preferences come from.
    pub(super) code: u64,
}

const STREET: [(Kind, usize, usize); 20] = [
    (Kind::Parent, 0, 0),
    (Kind::Parent, 0, 1),
    (Kind::Couple, 1, 0),
    (Kind::Couple, 1, 1),
    (Kind::Student, 2, 0),
    (Kind::Student, 2, 1),
    (Kind::Student, 2, 2),
    (Kind::Retired, 3, 0),
    (Kind::Retired, 3, 1),
    (Kind::Single, 4, 0),
    (Kind::Single, 5, 0),
    (Kind::Freelancer, 6, 0),
    (Kind::NightShift, 7, 0),
    (Kind::Retired, 8, 0),
    (Kind::Parent, 9, 0),
    (Kind::Parent, 9, 1),
    (Kind::Student, 9, 2),
    (Kind::Expat, 10, 0),
    (Kind::Dormant, 11, 0),
    (Kind::Wealthy, 12, 0),
];

const HOUSEHOLDS_A_STREET: usize = 13;

/// Returns the life of the customer of this number.
pub(super) fn life(seed: u64, number: usize) -> Life {
    let street = number / STREET.len();
    let (kind, home, rank) = STREET.get(number % STREET.len()).copied().unwrap_or((Kind::Single, 0, 0));
    let kind = varied(kind, street);
    let household = street * HOUSEHOLDS_A_STREET + home;
    let place = at_share(spread(seed, "countries", household));
    let mut dice = dice(seed, &format!("life {number}"), 0);
    let opens = (number % 11 == 5).then(|| whole(75.0 * spread(seed, "openings", number / 11)));
    // Each fifth new customer begins at the lowest level of identification.
    let begins = opens.is_some() && number / 11 % 5 == 2 && kind != Kind::Freelancer;
    let drawn = tier(kind, place, dice.unit());
    let tier = if begins { 1 } else { drawn };
    let income = place.rounded(income(kind, tier, &mut dice) * place.income);
    let abroad = kind == Kind::Dormant && number / 60 % 3 == 1;
    let age = age(if abroad { Kind::Student } else { kind }, &mut dice);
    let share = |name: &str| -> i64 { whole(1_100.0 * spread(seed, name, number)) - 700 };
    let (sims, passwords, moves) = (dice.chance(0.45), dice.chance(0.6), dice.chance(0.45));
    Life {
        kind,
        household,
        rank,
        place,
        age,
        income,
        tier,
        pay: pay(seed, number, kind, place, &mut dice),
        rent: rent(seed, household, kind, tier, place),
        opens,
        phone: share("telephones"),
        sim: (sims && opens.is_none()).then(|| share("sims")),
        password: passwords.then(|| share("passwords")),
        moves: (moves && opens.is_none() && rank == 0 && kind != Kind::Dormant).then(|| share("moves")),
        document: whole(3_640.0 * spread(seed, "documents", number)) - 40,
        late: i64::from(dice.count(8, 60)),
        drives: dice.chance(if matches!(kind, Kind::Student) { 0.15 } else { 0.5 }),
        taps: dice.chance(0.09),
        vpn: dice.chance(0.05),
        code: hash(seed, &format!("code {number}")),
    }
}

fn varied(kind: Kind, street: usize) -> Kind {
    match (kind, street % 6) {
        (Kind::Dormant, 1 | 4) | (Kind::Freelancer, 2) => Kind::Freelancer,
        (Kind::Dormant, 2 | 5) | (Kind::Wealthy, 1 | 3 | 5) => Kind::Single,
        (Kind::Freelancer, 0 | 3 | 5) => Kind::Shopkeeper,
        (kind, _) => kind,
    }
}

fn tier(kind: Kind, place: &Place, share: f64) -> u8 {
    let (one, two) = match (kind, place.country) {
        (Kind::Wealthy | Kind::Freelancer | Kind::Shopkeeper | Kind::Dormant, _) => (0.0, 0.2),
        (Kind::Student, "NG") => (0.6, 0.95),
        (_, "NG") => (0.25, 0.75),
        (Kind::Student, _) => (0.12, 0.8),
        _ => (0.03, 0.6),
    };
    if share < one {
        1
    } else if share < two {
        2
    } else {
        3
    }
}

fn income(kind: Kind, tier: u8, dice: &mut crate::dice::Dice) -> f64 {
    let middle = match kind {
        Kind::Student => 0.35,
        Kind::Retired => 0.62,
        Kind::Shopkeeper | Kind::Freelancer => 1.15,
        Kind::Wealthy => 4.0,
        Kind::Expat => 1.5,
        _ => 1.0,
    };
    let income = dice.around(middle, 0.5);
    if tier == 1 { income.min(0.5) } else { income }
}

fn age(kind: Kind, dice: &mut crate::dice::Dice) -> u32 {
    match kind {
        Kind::Student => dice.count(18, 27),
        Kind::Parent => dice.count(30, 52),
        Kind::Retired => dice.count(66, 88),
        Kind::Wealthy => dice.count(42, 72),
        _ => dice.count(22, 63),
    }
}

fn pay(seed: u64, number: usize, kind: Kind, place: &Place, dice: &mut crate::dice::Dice) -> Pay {
    match kind {
        Kind::Retired => Pay::Pension(if place.currency == "EUR" { 31 } else { 15 }),
        Kind::Student => Pay::Allowance(dice.count(1, 3)),
        Kind::Freelancer | Kind::Shopkeeper | Kind::Dormant => Pay::Irregular,
        _ if dice.chance(0.18) => Pay::Weekly(account(seed, &format!("small employer {}", number / 30))),
        _ if dice.chance(0.08) => Pay::Monthly(account(seed, &format!("employer {}", number / 25)), 15),
        _ => match dice.count(0, 2) {
            0 => Pay::Monthly("payroll-northwind".to_owned(), 25),
            1 => Pay::Monthly("payroll-meridian".to_owned(), 31),
            _ => Pay::Monthly("payroll-harbour-foods".to_owned(), 28),
        },
    }
}

fn rent(seed: u64, household: usize, kind: Kind, tier: u8, place: &Place) -> f64 {
    let share = spread(seed, "rents", household);
    let owns = match kind {
        Kind::Retired => 0.55,
        Kind::Wealthy => 0.4,
        Kind::Dormant => 1.0,
        _ => 0.1,
    };
    if tier == 1 || share < owns {
        return 0.0;
    }
    let part = if kind == Kind::Wealthy { 0.7 } else { 0.26 + 0.14 * share };
    place.even(place.income * part / place.prices)
}
