//! Agents in Nigeria: a shopkeeper with a terminal who pays for whoever walks in.
//!
//! The Central Bank of Nigeria's guidelines on agent banking describe them; the survey of `EFInA`, "Access to Financial Services in
//! Nigeria" says how many people use one. Walk-in customers are mostly of the two lower tiers.

use chrono::{Datelike, Weekday};

use super::book::{Book, buy};
use super::guests::guest;
use super::place::place;
use super::roll::{Roll, account, code};
use crate::context::{self, Session};
use crate::dice::dice;
use crate::{Device, Metadata};

/// Writes what the customers of agents pay on a local day.
pub(super) fn counters(book: &mut Book<'_>, day: i64) {
    let world = book.world;
    let here = place("NG");
    let open = book.covers(world.at(here, day, 7.0)) || book.covers(world.at(here, day, 20.0));
    if !open || world.date(day).weekday() == Weekday::Sun {
        return;
    }
    let agents = 1 + world.people.len() / 150;
    for agent in 0..agents {
        let mut dice = dice(world.seed, &format!("agent {agent}"), day);
        let device = Device {
            id: format!("dev-{}", code(world.seed, &format!("agent {agent}"), 10)),
            kind: "agent_terminal",
        };
        for _ in 0..dice.count(4, 11) {
            let name = format!("walk-in {} {agent}", dice.count(0, 60));
            let at = world.at(here, day, dice.between(8.0, 19.0));
            let value = here.even(dice.around(14.0, 1.1).min(110.0));
            let to = account(world.seed, &format!("relative {} of {name}", dice.count(0, 3)));
            if !book.covers(at) {
                continue;
            }
            let payer = guest(world.seed, &name, here, world.start.date_naive());
            let parties = (Some(&*payer.account), Some(&*to));
            book.put(parties, here.currency, &buy(at, value, "paid at the agent"), |id| -> Metadata {
                let mut dice = Book::own(world, id);
                let session = Session {
                    device: &device,
                    ip: format!("198.19.{}.{}", 180 + agent % 20, 10 + agent / 20 % 200),
                    ip_country: "NG",
                    ip_type: "mobile",
                    channel: "mobile_app",
                    mfa: dice.chance(0.9),
                    travel_notice: false,
                    payee_added_minutes_ago: dice.chance(0.2).then_some(2),
                    remote_access: false,
                    call_in_progress: dice.chance(0.03),
                };
                context::transfer(&payer, &session, &to, None, at)
            });
        }
    }
}
