//! Accounts, cards, devices and shops of criminals and of those who lend theirs. They look like any others.

use chrono::Days;

use super::draft::Payer;
use super::money::{currency_of, level, neat};
use super::scene::Scene;
use crate::{Card, Customer, Device, Merchant};

/// A made-up customer.
pub(super) struct Profile {
    pub(super) country: &'static str,
    pub(super) age: u32,
    /// Days for which the account has been open when the story begins.
    pub(super) open: u32,
    pub(super) tier: u8,
    /// Income a month, at the price level of the euro.
    pub(super) income: f64,
}

impl<'a> Scene<'a> {
    /// Returns a customer made up for the story.
    pub(super) fn person(&mut self, profile: &Profile) -> Customer {
        let currency = currency_of(profile.country);
        let kind = if self.chance(0.75) { "phone" } else { "browser" };
        let valid = self.count(150, 3_000);
        Customer {
            account: self.account(),
            country: profile.country,
            currency,
            age: profile.age,
            opened_on: self.days_ago(profile.open),
            kyc_tier: profile.tier,
            monthly_income: neat(profile.income * level(currency), currency),
            daily_limit: match (profile.tier, currency) {
                (1, "NGN") => Some(50_000.0),
                (1, _) => Some(neat(150.0 * level(currency), currency)),
                _ => None,
            },
            email: self.email(),
            cards: vec![self.card(profile.country)],
            devices: vec![self.device(kind)],
            home_ip: self.ip(),
            credentials_changed_on: None,
            contact_changed_on: None,
            sim_swapped_on: None,
            document_expires_on: (self.midnight + Days::new(u64::from(valid))).date_naive(),
            saved_beneficiaries: (0..self.count(0, 2)).map(|_| self.account()).collect(),
        }
    }

    pub(super) fn account(&mut self) -> String {
        format!("acct-{}", self.token(8))
    }

    pub(super) fn accounts(&mut self, from: u32, to: u32) -> Vec<String> {
        (0..self.count(from, to)).map(|_| self.account()).collect()
    }

    pub(super) fn device(&mut self, kind: &'static str) -> Device {
        Device { id: format!("dev-{}", self.token(10)), kind }
    }

    /// Returns a card of the bank, out of its range for the country.
    fn card(&mut self, country: &'static str) -> Card {
        let bin = match country {
            "NG" => "506105",
            "GB" => "465858",
            "JP" => "498000",
            "KW" => "450605",
            "US" => "414720",
            _ => "431940",
        };
        self.card_of(bin, country)
    }

    /// Returns a range of card numbers of some issuer.
    pub(super) fn bin(&mut self) -> String {
        let scheme = if self.chance(0.6) { 4 } else { 5 };
        format!("{scheme}{:05}", self.count(10_000, 59_999))
    }

    pub(super) fn card_of(&mut self, bin: &str, country: &'static str) -> Card {
        Card { fingerprint: format!("card-{}", self.token(10)), bin: bin.to_owned(), country }
    }

    /// Returns a card of a stranger, whom the bank that asks does not know.
    pub(super) fn strangers_card(&mut self, country: &'static str) -> Payer<'a> {
        let bin = self.bin();
        Payer { holder: None, account: self.account(), card: self.card_of(&bin, country) }
    }

    pub(super) fn email(&mut self) -> String {
        const NAMES: [&str; 14] = [
            "anna", "marek", "julia", "tom", "lena", "paul", "noemi", "kofi", "yuki", "omar", "eva", "nils",
            "rosa", "ben",
        ];
        let first = self.one_of(&NAMES).unwrap_or("kim");
        let host = self.one_of(&["example.com", "example.org", "example.net"]).unwrap_or("example.com");
        format!("{first}.{}{}@{host}", self.token(5), self.count(1, 99))
    }

    /// Returns the identifier of a bank in a country, as ISO 9362 has it.
    pub(super) fn bank(&mut self, country: &str) -> String {
        const LETTERS: [char; 12] = ['A', 'B', 'C', 'D', 'E', 'K', 'L', 'M', 'N', 'R', 'S', 'T'];
        let name: String = (0..4).filter_map(|_| self.one_of(&LETTERS)).collect();
        format!("{name}{country}{}", self.count(22, 99))
    }

    /// Returns an address on the internet, out of a network that nobody uses.
    pub(super) fn ip(&mut self) -> String {
        format!("198.18.{}.{}", self.count(110, 255), self.count(2, 252))
    }

    /// Returns a shop made up for the story.
    pub(super) fn shop(
        &mut self,
        mcc: &'static str,
        country: &'static str,
        open: u32,
        ticket: f64,
    ) -> Merchant {
        let settlement = match country {
            "NG" => "settlement-ng-1",
            _ if self.chance(0.5) => "settlement-eu-1",
            _ => "settlement-eu-2",
        };
        let currency = currency_of(country);
        Merchant {
            id: format!("mer-{}", self.token(8)),
            settlement_account: settlement.to_owned(),
            account: self.account(),
            mcc,
            country,
            currency,
            declared_average_ticket: neat(ticket * level(currency), currency),
            boarded_on: self.days_ago(open),
        }
    }
}
