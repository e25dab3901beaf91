//! Sessions and orders: of a customer who was talked into something, and of somebody who is not the customer.

use chrono::{DateTime, Utc};

use super::scene::Scene;
use crate::context::{Checkout, Session};
use crate::{Customer, Device};

/// Returns the customer's own device at home, with a second factor.
pub(super) fn own(customer: &Customer) -> Option<Session<'_>> {
    let devices = &customer.devices;
    let browser = devices.iter().find(|device| device.kind == "browser");
    let device = browser.or_else(|| devices.iter().find(|device| device.kind != "agent_terminal"))?;
    Some(Session { mfa: true, ..from(device, customer.home_ip.clone(), customer.country, "residential") })
}

/// Returns a session of a device from somewhere, without a second factor.
pub(super) fn from<'a>(
    device: &'a Device,
    ip: String,
    ip_country: &'static str,
    ip_type: &'static str,
) -> Session<'a> {
    Session {
        device,
        ip,
        ip_country,
        ip_type,
        channel: if device.kind == "browser" { "web" } else { "mobile_app" },
        mfa: false,
        travel_notice: false,
        payee_added_minutes_ago: None,
        remote_access: false,
        call_in_progress: false,
    }
}

/// Returns the session at an instant, when the payee had been entered at another.
pub(super) fn payee_added<'a>(session: &Session<'a>, added: DateTime<Utc>, at: DateTime<Utc>) -> Session<'a> {
    let minutes = at.signed_duration_since(added).num_minutes().max(0);
    Session { payee_added_minutes_ago: u32::try_from(minutes).ok(), ..session.clone() }
}

/// Returns an order of the customer from home, as honest ones are.
pub(super) fn order<'a>(customer: &'a Customer, goods: &'static str, risk_score: u8) -> Checkout<'a> {
    Checkout {
        ip: customer.home_ip.clone(),
        ip_country: customer.country,
        ip_type: "residential",
        device: customer.devices.iter().find(|device| device.kind != "agent_terminal"),
        email: customer.email.clone(),
        three_ds: "passed",
        risk_score,
        travel_notice: false,
        goods,
        billing_country: customer.country,
        shipping_country: Some(customer.country).filter(|_| ships(goods)),
    }
}

fn ships(goods: &str) -> bool {
    !matches!(goods, "digital" | "gift_card" | "donation")
}

impl Scene<'_> {
    /// Returns an order of somebody else with a card of this country, from an address of another.
    pub(super) fn strange_order(
        &mut self,
        card_country: &'static str,
        ip_country: &'static str,
        ip_type: &'static str,
        goods: &'static str,
        risk: (u32, u32),
    ) -> Checkout<'static> {
        Checkout {
            ip: self.ip(),
            ip_country,
            ip_type,
            device: None,
            email: self.email(),
            three_ds: "none",
            risk_score: u8::try_from(self.count(risk.0, risk.1)).unwrap_or(100),
            travel_notice: false,
            goods,
            billing_country: card_country,
            shipping_country: Some(card_country).filter(|_| ships(goods)),
        }
    }
}
