//! Large sums of ordinary lives: a car, a kitchen, a wedding, a tax bill, an inheritance, help for a grandchild.
//!
//! How often: one adult in fifteen buys a used car in a year (Kraftfahrt-Bundesamt, changes of ownership), two to three
//! kitchens a hundred households (AMK), four to five weddings a thousand inhabitants (Eurostat). Sums are rounded from
//! trade associations; the rest is general knowledge.

use chrono::{DateTime, TimeDelta, Utc};

use super::book::{Book, Payee, buy};
use super::roll::{Roll, account};
use super::shops;
use super::world::Person;
use crate::dice::Dice;

fn at(book: &Book<'_>, me: &Person<'_>, day: i64, hours: (f64, f64), dice: &mut Dice) -> DateTime<Utc> {
    book.world.at(me.life.place, day, dice.between(hours.0, hours.1))
}

/// Returns an account at another bank that is paid for the first time.
fn stranger(book: &Book<'_>, me: &Person<'_>, who: &str, day: i64) -> Payee {
    Payee::new(account(book.world.seed, &format!("{who} {} {day}", me.who.account)))
}

/// Returns a large sum: months of income, limited from below and above.
fn months(me: &Person<'_>, low: f64, high: f64, dice: &mut Dice) -> f64 {
    let place = me.life.place;
    place.even(me.life.income * dice.between(low, high) / place.prices)
}

/// Brings money over from the own savings an hour or some days before it is needed.
fn from_savings<'w>(book: &mut Book<'w>, me: &Person<'w>, value: f64, at: DateTime<Utc>, dice: &mut Dice) {
    let savings = account(book.world.seed, &format!("savings {}", me.who.account));
    let at = at - TimeDelta::minutes(i64::from(dice.count(40, 900)));
    book.receive(&savings, me, "transfer", &buy(at, value, "from my savings"));
}

/// Writes the purchase of a used car from a dealer or a private seller, perhaps with a deposit the day before.
pub(super) fn used_car<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let value = months(me, 2.2, 6.0, dice);
    let at = at(book, me, day, (10.0, 18.5), dice);
    let seller = stranger(book, me, "car seller", day);
    from_savings(book, me, value, at, dice);
    if dice.chance(0.4) {
        let deposit = me.life.place.even(value * 0.1 / me.life.place.prices);
        book.transfer(me, &seller, &buy(at, deposit, "deposit for a used car"));
        let to = Payee { new: false, ..seller };
        let at = at + TimeDelta::hours(i64::from(dice.count(20, 27)));
        book.transfer(me, &to, &buy(at, value - deposit, "used car"));
    } else {
        book.transfer(me, &seller, &buy(at, value, "used car"));
    }
}

/// Writes a kitchen: a deposit on order, the rest on delivery.
pub(super) fn kitchen<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let value = months(me, 1.8, 4.0, dice);
    let first = at(book, me, day, (11.0, 19.0), dice);
    let shop = stranger(book, me, "kitchen studio", day);
    let deposit = me.life.place.even(value * 0.4 / me.life.place.prices);
    from_savings(book, me, deposit, first, dice);
    book.transfer(me, &shop, &buy(first, deposit, "kitchen, deposit"));
    let rest = at(book, me, day + i64::from(dice.count(20, 29)), (9.0, 20.0), dice);
    from_savings(book, me, value - deposit, rest, dice);
    book.transfer(me, &Payee { new: false, ..shop }, &buy(rest, value - deposit, "kitchen, rest"));
}

/// Writes furniture bought with the card, in the shop or online.
pub(super) fn furniture<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let Some(shop) = book.world.shop(me, &shops::FURNITURE, dice) else { return };
    let value = me.price(dice.around(620.0, 1.2) * me.means());
    let at = at(book, me, day, (10.0, 20.0), dice);
    if dice.chance(0.5) {
        book.shop(me, shop, &buy(at, value, "furniture"));
    } else {
        book.order(me, shop, "household", &buy(at, value, "furniture"));
    }
}

/// Writes a wedding: several first-time payees within a month, rings, and gifts of money that come in.
pub(super) fn wedding<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let parts = [("venue", 0.8, 1.6), ("caterer", 0.7, 1.8), ("photographer", 0.3, 0.6), ("band", 0.2, 0.5)];
    for (who, low, high) in parts {
        let value = months(me, low, high, dice);
        let at = at(book, me, day + i64::from(dice.count(0, 18)), (9.0, 21.5), dice);
        from_savings(book, me, value, at, dice);
        let text = format!("wedding, {who}");
        book.transfer(me, &stranger(book, me, who, day), &buy(at, value, &text));
    }
    let rings = at(book, me, day + 5, (11.0, 18.0), dice);
    if let Some(shop) = book.world.shop(me, &shops::JEWELLER, dice) {
        book.shop(me, shop, &buy(rings, me.price(dice.around(1_300.0, 0.5)), "wedding rings"));
    }
    for guest in 0..dice.count(8, 16) {
        let at = at(book, me, day + 20 + i64::from(dice.count(0, 8)), (9.0, 22.0), dice);
        let from = account(book.world.seed, &format!("wedding guest {guest} {}", me.who.account));
        let value = me.even(dice.around(90.0, 0.8));
        book.receive(&from, me, "transfer", &buy(at, value, "wedding present"));
    }
}

/// Writes a holiday for the family, booked and paid at once online.
pub(super) fn holiday<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let Some(agency) = book.world.shop(me, &shops::AGENCY, dice) else { return };
    let value = me.price(dice.around(shops::AGENCY.price, 0.7) * me.means().clamp(0.5, 2.0));
    let at = at(book, me, day, (18.0, 23.0), dice);
    from_savings(book, me, me.life.place.even(value * 0.7 / me.life.place.prices), at, dice);
    if dice.chance(0.6) {
        book.order(me, agency, "travel", &buy(at, value, "holiday booked at once"));
        return;
    }
    let flights = me.life.place.rounded(value * 0.45);
    if let Some(airline) = book.world.shop(me, &shops::AIRLINE, dice) {
        book.order(me, airline, "tickets", &buy(at, flights, "flights for the holiday"));
    }
    if let Some(hotel) = book.world.shop(me, &shops::HOTEL, dice) {
        let at = at + TimeDelta::minutes(i64::from(dice.count(9, 70)));
        book.order(
            me,
            hotel,
            "lodging",
            &buy(at, me.life.place.rounded(value * 0.5), "hotel for the holiday"),
        );
    }
}

/// Writes a tax bill after the yearly return.
pub(super) fn tax_bill<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let office = account(book.world.seed, &format!("tax office {}", me.life.place.country));
    let at = at(book, me, day, (9.0, 22.0), dice);
    let value = me.life.place.rounded(months(me, 0.4, 1.6, dice) * 1.013);
    from_savings(book, me, value, at, dice);
    book.transfer(me, &Payee::new(office), &buy(at, value, "tax bill"));
}

/// Writes a bonus and its move to the savings account within the hour.
pub(super) fn bonus<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    windfall(book, me, day, ("bonus", 0.8, 2.0), dice);
}

/// Writes a severance payment and its move to the savings account.
pub(super) fn severance<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    windfall(book, me, day, ("severance", 4.0, 9.0), dice);
}

fn windfall<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, what: (&str, f64, f64), dice: &mut Dice) {
    let super::life::Pay::Monthly(employer, _) = &me.life.pay else { return };
    let value = months(me, what.1, what.2, dice);
    let at = at(book, me, day, (5.0, 9.0), dice);
    book.receive(employer, me, "salary", &buy(at, value, what.0));
    let savings = Payee::known(account(book.world.seed, &format!("savings {}", me.who.account)));
    let part = me.life.place.even(value * 0.9 / me.life.place.prices);
    let at = at + TimeDelta::minutes(i64::from(dice.count(5, 58)));
    let text = format!("{} saved", what.0);
    book.transfer(me, &savings, &buy(at, part, &text));
}

/// Writes an inheritance, and what is done with it in the days after.
pub(super) fn inheritance<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let notary = account(book.world.seed, &format!("notary {}", me.life.place.country));
    let value = months(me, 8.0, 25.0, dice);
    let comes = at(book, me, day, (9.0, 16.0), dice);
    book.receive(&notary, me, "transfer", &buy(comes, value, "inheritance"));
    let kept = me.life.place.even(value * 0.7 / me.life.place.prices);
    let moved = at(book, me, day + i64::from(dice.count(1, 4)), (8.0, 21.0), dice);
    let savings = Payee::known(account(book.world.seed, &format!("savings {}", me.who.account)));
    book.transfer(me, &savings, &buy(moved, kept, "inheritance saved"));
    let shared = at(book, me, day + 5, (9.0, 20.0), dice);
    let part = me.life.place.even(value * 0.1 / me.life.place.prices);
    book.transfer(me, &stranger(book, me, "sibling", 0), &buy(shared, part, "your part of the inheritance"));
}

/// Writes the repayment of a credit ahead of time.
pub(super) fn credit_repaid<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let at = at(book, me, day, (8.0, 21.0), dice);
    let value = months(me, 1.0, 5.0, dice);
    from_savings(book, me, value, at, dice);
    let lender = account(book.world.seed, &format!("lender {}", me.life.place.country));
    book.transfer(me, &Payee::known(lender), &buy(at, value, "credit repaid"));
}

/// Writes the invoice of a craftsman, paid in the evening or at the weekend to somebody never paid before.
pub(super) fn craftsman<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let trade =
        dice.pick(&["plumber", "roofer", "electrician", "painter", "gardener"]).copied().unwrap_or("painter");
    let old = if me.life.age >= 66 { 1.6 } else { 1.0 };
    let value = me.price(dice.around(520.0, 1.6) * old);
    let at = at(book, me, day, (8.0, 22.5), dice);
    if value > me.life.income * 0.5 {
        from_savings(book, me, me.life.place.even(value / me.life.place.prices), at, dice);
    }
    let text = format!("invoice of the {trade}");
    book.transfer(me, &stranger(book, me, trade, day), &buy(at, value, &text));
}

/// Writes savings that are pulled together from several accounts to pay something large.
pub(super) fn savings_pooled<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let mut sum = 0.0;
    for pot in 0..dice.count(3, 4) {
        let value = months(me, 0.8, 2.5, dice);
        let at = at(book, me, day, (9.0, 19.0), dice);
        let from = account(book.world.seed, &format!("savings pot {pot} {}", me.who.account));
        book.receive(&from, me, "transfer", &buy(at, value, "savings pulled together"));
        sum += value;
    }
    let at = at(book, me, day + i64::from(dice.count(1, 2)), (9.0, 20.0), dice);
    let what = dice.pick(&["solar roof", "new heating", "part of a house"]).copied().unwrap_or("new heating");
    let text = format!("{what}, from pooled savings");
    book.transfer(me, &stranger(book, me, what, day), &buy(at, sum * 0.96, &text));
}

/// Writes the cash that a private seller got for a car and takes to the bank.
pub(super) fn cash_for_car<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let at = at(book, me, day, (9.5, 16.0), dice);
    let euros = dice.between(3_000.0, 12_000.0);
    let branch = format!("branch-{}-{}", me.life.place.country.to_lowercase(), me.life.code % 4 + 1);
    let step = me.life.place.even(100.0);
    let value = (me.even(euros) / step).round() * step;
    book.cash(me, &branch, None, &buy(at, value, "cash for a used car"));
}

/// Writes help for a grandchild: a large gift that the family knows of.
pub(super) fn grandchild<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let at = at(book, me, day, (9.0, 19.0), dice);
    let value = months(me, 0.4, 2.2, dice);
    from_savings(book, me, value, at, dice);
    let to = stranger(book, me, "grandchild", 0);
    let to = if dice.chance(0.5) { Payee { new: false, ..to } } else { to };
    let text = dice.pick(&["for your driving licence", "for your studies", "for the new flat"]);
    book.transfer(me, &to, &buy(at, value, text.copied().unwrap_or("for your studies")));
}
