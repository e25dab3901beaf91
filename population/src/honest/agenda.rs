//! What does not happen every day: which events happen to whom, and when.
//!
//! Each kind of event has a rate for a customer and 75 days, and happens that often in each span of 75 days, to customers
//! whom it fits. A population of a hundred or more sees each kind at least once in a span.

use std::collections::BTreeSet;

use super::book::Book;
use super::life::Kind;
use super::roll::{Roll, whole};
use super::world::{Person, World};
use super::{big, changes, family, giving, journey, online, traders};
use crate::dice::{Dice, dice};

/// Days after which the events are drawn anew.
const SPAN: i64 = 75;

type Act = for<'w> fn(&mut Book<'w>, &Person<'w>, i64, &mut Dice);

/// A kind of event.
pub(super) struct Plan {
    /// The name, which its dice go by.
    pub(super) name: &'static str,
    /// Events for a customer in 75 days.
    rate: f64,
    /// Days that it lasts at most.
    lasts: i64,
    /// Whom it can happen to.
    who: fn(&Person<'_>) -> bool,
    /// What is paid.
    act: Act,
}

/// An event that happens to somebody on a day.
pub(super) struct Happening {
    plan: &'static Plan,
    number: usize,
    day: i64,
}

const fn plan(name: &'static str, rate: f64, lasts: i64, who: fn(&Person<'_>) -> bool, act: Act) -> Plan {
    Plan { name, rate, lasts, who, act }
}

/// All kinds of events.
pub(super) static PLANS: &[Plan] = &[
    plan("journey by train", 0.03, 13, european, journey::travel),
    plan("journey by air", 0.11, 15, settled, journey::travel),
    plan("business journey", 0.03, 6, earning, journey::travel),
    plan("day across the border", 0.03, 1, continental, journey::travel),
    plan("used car", 0.015, 2, settled, big::used_car),
    plan("kitchen", 0.008, 30, settled, big::kitchen),
    plan("furniture", 0.025, 3, adult, big::furniture),
    plan("wedding", 0.007, 30, settled, big::wedding),
    plan("holiday", 0.06, 2, settled, big::holiday),
    plan("tax bill", 0.02, 1, settled, big::tax_bill),
    plan("bonus", 0.03, 1, earning, big::bonus),
    plan("severance", 0.007, 1, earning, big::severance),
    plan("inheritance", 0.007, 6, settled, big::inheritance),
    plan("credit repaid", 0.01, 1, settled, big::credit_repaid),
    plan("craftsman", 0.10, 1, settled, big::craftsman),
    plan("savings pooled", 0.012, 3, settled, big::savings_pooled),
    plan("private car sale for cash", 0.01, 2, settled, big::cash_for_car),
    plan("help for a grandchild", 0.02, 1, retired, big::grandchild),
    plan("dinner split", 0.14, 1, adult, family::dinner),
    plan("club collection", 0.016, 3, parent, giving::collection),
    plan("second-hand sale", 0.06, 8, adult, giving::second_hand),
    plan("charity run", 0.008, 2, adult, giving::charity_run),
    plan("tablet evening", 0.05, 1, parent, family::tablet),
    plan(online::CLOTHES, 1.7, 20, adult, online::clothes),
    plan("trial subscription", 0.08, 32, adult, online::trial),
    plan("cancelled journey", 0.02, 20, adult, online::cancelled),
    plan("refund to another card", 0.012, 15, two_cards, online::other_card),
    plan("chargeback", 0.012, 25, adult, online::chargeback),
    plan("home improvement", 0.04, 10, settled, online::home_improvement),
    plan("business purchase", 0.15, 1, trading, traders::supplies),
    plan("wire abroad", 0.03, 1, wired, traders::wire),
    plan("password forgotten", 0.03, 1, adult, changes::forgotten),
];

fn active(person: &Person<'_>) -> bool {
    person.life.kind != Kind::Dormant
}

fn adult(person: &Person<'_>) -> bool {
    active(person) && person.life.tier > 1
}

fn settled(person: &Person<'_>) -> bool {
    adult(person) && person.life.kind != Kind::Student && person.who.daily_limit.is_none()
}

fn european(person: &Person<'_>) -> bool {
    adult(person) && matches!(person.life.place.country, "DE" | "FR" | "NL" | "ES" | "GB" | "IE")
}

fn continental(person: &Person<'_>) -> bool {
    european(person) && person.life.drives && !matches!(person.life.place.country, "GB" | "IE")
}

fn earning(person: &Person<'_>) -> bool {
    settled(person) && matches!(person.life.pay, super::life::Pay::Monthly(..))
}

fn retired(person: &Person<'_>) -> bool {
    settled(person) && person.life.kind == Kind::Retired
}

fn parent(person: &Person<'_>) -> bool {
    adult(person) && person.life.kind == Kind::Parent
}

fn two_cards(person: &Person<'_>) -> bool {
    adult(person) && person.who.cards.len() > 1
}

fn trading(person: &Person<'_>) -> bool {
    settled(person) && matches!(person.life.kind, Kind::Freelancer | Kind::Shopkeeper)
}

fn wired(person: &Person<'_>) -> bool {
    settled(person) && matches!(person.life.kind, Kind::Freelancer | Kind::Wealthy | Kind::Expat)
}

/// Returns the events that can pay something on a day or on its neighbours.
pub(super) fn around(world: &World<'_>, day: i64) -> Vec<Happening> {
    let mut happenings = Vec::new();
    let longest = PLANS.iter().map(|plan| plan.lasts).max().unwrap_or_default();
    for span in (day - longest - 1).div_euclid(SPAN)..=(day + 1).div_euclid(SPAN) {
        let mut travellers = Vec::new();
        // What began in an earlier span may be over.
        for plan in PLANS.iter().filter(|plan| (span + 1) * SPAN + plan.lasts + 1 >= day) {
            of_span(world, plan, span, &mut travellers, &mut happenings);
        }
    }
    happenings.retain(|event| event.day <= day + 1 && event.day + event.plan.lasts + 1 >= day);
    happenings.retain(|event| {
        event.plan.name != online::CLOTHES || online::pays(world.seed, event.number, event.day, day)
    });
    happenings
}

fn of_span(
    world: &World<'_>,
    plan: &'static Plan,
    span: i64,
    travellers: &mut Vec<usize>,
    happenings: &mut Vec<Happening>,
) {
    let fitting: Vec<&Person<'_>> = world.people.iter().filter(|person| (plan.who)(person)).collect();
    let mut dice = dice(world.seed, plan.name, span);
    let n_people = u32::try_from(world.people.len()).unwrap_or(u32::MAX);
    let least = i64::from(n_people >= 100);
    let n_events = whole(plan.rate * f64::from(n_people) + dice.unit()).max(least);
    let (offset, travels) = (dice.unit(), plan.name.contains("journey") && plan.name != "cancelled journey");
    let travels = travels || plan.name.contains("border");
    let mut taken = BTreeSet::new();
    for event in 0..u32::try_from(n_events).unwrap_or_default() {
        let share = (offset + f64::from(event) * 0.618_033_988_749_895).fract();
        // What takes weeks ends within its span; so nobody is on two journeys at once.
        let days = SPAN - if travels { 15 } else { (plan.lasts - 8).max(0) };
        let day = span * SPAN + whole(share * f64::from(i32::try_from(days).unwrap_or(1)));
        for _ in 0..6 {
            let Some(person) = dice.pick(&fitting) else { break };
            if !person.is_open_on(day)
                || !taken.insert((person.number, day))
                || (travels && travellers.contains(&person.number))
            {
                continue;
            }
            if travels {
                travellers.push(person.number);
            }
            happenings.push(Happening { plan, number: person.number, day });
            break;
        }
    }
}

/// Notes the journeys among the events in the book.
pub(super) fn pack(book: &mut Book<'_>, happenings: &[Happening]) {
    let world = book.world;
    let trip =
        |event: &Happening| journey::trip(world, event.plan.name, world.person(event.number)?, event.day);
    book.trips = happenings.iter().filter_map(trip).collect();
}

/// Writes the payments of events.
pub(super) fn play(book: &mut Book<'_>, happenings: &[Happening]) {
    let world = book.world;
    for event in happenings {
        if let Some(person) = world.person(event.number) {
            let mut dice = dice(world.seed, &format!("{} {}", event.plan.name, event.number), event.day);
            (event.plan.act)(book, person, event.day, &mut dice);
        }
    }
}
