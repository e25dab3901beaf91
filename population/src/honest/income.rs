//! Money that comes in: salaries, pensions, allowances, benefits; and what is passed on at once.
//!
//! Days of pay are general knowledge: the 25th, the 28th or the last working day, Fridays at small employers; German and
//! French pensions come at the end of the month. German child benefit is 250 EUR a child (Bundesagentur für Arbeit).

use chrono::{Datelike, Weekday};

use super::book::{Book, Payee, buy};
use super::life::{Kind, Pay};
use super::roll::{Roll, account, hash};
use super::world::{Person, due};
use crate::dice::Dice;

/// Writes what arrives on a local day, and what is moved on within the hour.
pub(super) fn arrivals<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let date = book.world.date(day);
    let seed = book.world.seed;
    let (income, country) = (me.who.monthly_income, me.life.place.country);
    let (from, text, kind, value, hours) = match &me.life.pay {
        Pay::Monthly(employer, on) if due(date, *on) => (employer.clone(), "salary", "salary", income, 5.0),
        Pay::Weekly(employer) if date.weekday() == Weekday::Fri => {
            (employer.clone(), "weekly wage", "salary", income / 4.33, 12.0)
        }
        Pay::Pension(on) if due(date, *on) => {
            (account(seed, &format!("pensions {country}")), "pension", "pension", income, 4.0)
        }
        Pay::Allowance(on) if due(date, *on) => {
            let from = account(seed, &format!("parents of {}", me.who.account));
            (from, "monthly allowance", "transfer", income, 6.0)
        }
        _ => {
            benefits(book, me, day, dice);
            return;
        }
    };
    let at = book.world.at(me.life.place, day, hours + dice.between(0.0, 2.0));
    book.receive(&from, me, kind, &buy(at, me.life.place.rounded(value), text));
    if text == "salary" {
        pass_on(book, me, day, hours, dice);
    }
    benefits(book, me, day, dice);
}

/// Writes the transfers of those who empty the account on payday: to their savings, or to the joint account.
fn pass_on<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, hours: f64, dice: &mut Dice) {
    let at = book.world.at(me.life.place, day, hours + dice.between(2.1, 2.9));
    let (seed, own, place) = (book.world.seed, &me.who.account, me.life.place);
    let shared = me.life.rank > 0 && matches!(me.life.kind, Kind::Couple | Kind::Parent);
    if shared && me.life.code.is_multiple_of(3) {
        let joint = Payee::known(account(seed, &format!("joint {}", me.life.household)));
        let value = place.even(me.who.monthly_income * 0.65 / place.prices);
        book.transfer(me, &joint, &buy(at, value, "salary to the joint account"));
    } else if me.life.code % 4 == 1 {
        let savings = Payee::known(account(seed, &format!("savings {own}")));
        let value = place.even(me.who.monthly_income * 0.27 / place.prices);
        book.transfer(me, &savings, &buy(at, value, "savings on payday"));
    }
}

fn benefits<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let first = me.life.kind == Kind::Parent && me.life.rank == 0;
    let on = 8 + u32::try_from(hash(3, &me.who.account) % 12).unwrap_or_default();
    if first && due(book.world.date(day), on) {
        let from = account(book.world.seed, &format!("family benefits {}", me.life.place.country));
        let at = book.world.at(me.life.place, day, dice.between(3.0, 5.0));
        let children = f64::from(u32::try_from(me.life.code % 3 + 1).unwrap_or(1));
        let value = me.even(if me.life.place.prices > 10.0 { 60.0 } else { 250.0 } * children);
        book.receive(&from, me, "benefit", &buy(at, value, "child benefit"));
    }
}
