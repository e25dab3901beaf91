//! Connection slots: a total limit, a limit per address, and additional slots for health checks.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;

/// Number of connections beyond the limit that are accepted, each for a single health check.
pub(super) const HEALTH_SLOTS: usize = 32;

#[derive(Debug)]
pub(super) struct ConnectionSlots {
    caps: ConnectionCaps,
    taken: Mutex<SlotCounts>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConnectionCaps {
    pub(super) open_max: usize,
    pub(super) per_address_max: usize,
    /// Whether the limit per address applies to loopback too.
    pub(super) counts_loopback: bool,
}

#[derive(Debug, Default)]
struct SlotCounts {
    n_seats: usize,
    n_health_slots: usize,
    by_origin: HashMap<IpAddr, usize>,
}

/// A slot, released on drop.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    kind: SlotKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotKind {
    /// For any number of requests; holds the counted address, if any.
    Client(Option<IpAddr>),
    /// For one health check.
    Health,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotRefusal {
    /// All client and health slots are taken.
    Full,
    /// All slots of this address are taken.
    Address,
}

impl SlotRefusal {
    /// Returns the label for logs and metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Address => "address",
        }
    }
}

impl ConnectionSlots {
    pub(super) fn new(caps: ConnectionCaps) -> Arc<Self> {
        Arc::new(Self { caps, taken: Mutex::default() })
    }

    /// Takes a slot for a client at this address.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Result<ConnectionSlot, SlotRefusal> {
        let origin = self.counted(address);
        let mut taken = self.taken.lock();
        let n_of_origin = origin.and_then(|origin| taken.by_origin.get(&origin)).copied().unwrap_or(0);
        let kind = if n_of_origin >= self.caps.per_address_max {
            return Err(SlotRefusal::Address);
        } else if taken.n_seats < self.caps.open_max {
            taken.n_seats += 1;
            if let Some(origin) = origin {
                taken.by_origin.insert(origin, n_of_origin + 1);
            }
            SlotKind::Client(origin)
        } else if taken.n_health_slots < HEALTH_SLOTS {
            taken.n_health_slots += 1;
            SlotKind::Health
        } else {
            return Err(SlotRefusal::Full);
        };
        Ok(ConnectionSlot { slots: Arc::clone(self), kind })
    }

    /// Returns the address under which a client is counted. An IPv6 /64 network counts as one client, because its owner
    /// controls all addresses of the network.
    fn counted(&self, address: IpAddr) -> Option<IpAddr> {
        let address = address.to_canonical();
        if address.is_loopback() && !self.caps.counts_loopback {
            return None;
        }
        Some(match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
        })
    }
}

impl ConnectionSlot {
    /// Returns whether the slot is for a single health check.
    pub(super) fn is_health_slot(&self) -> bool {
        self.kind == SlotKind::Health
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken.lock();
        match self.kind {
            SlotKind::Health => taken.n_health_slots -= 1,
            SlotKind::Client(origin) => {
                taken.n_seats -= 1;
                let Some(origin) = origin else { return };
                if let Some(n_of_origin) = taken.by_origin.get_mut(&origin) {
                    *n_of_origin -= 1;
                    if *n_of_origin == 0 {
                        taken.by_origin.remove(&origin);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPS: ConnectionCaps = ConnectionCaps { open_max: 4, per_address_max: 2, counts_loopback: false };

    #[track_caller]
    fn check(slots: &Arc<ConnectionSlots>, address: &str, expected: &str) -> Option<ConnectionSlot> {
        let slot = slots.take(address.parse().unwrap());
        let found = match &slot {
            Ok(slot) if slot.is_health_slot() => "stool",
            Ok(_) => "seat",
            Err(refusal) => refusal.as_str(),
        };
        assert_eq!(found, expected, "{address}");
        slot.ok()
    }

    #[test]
    fn an_address_takes_its_seats_and_no_more() {
        let slots = ConnectionSlots::new(CAPS);
        let first = check(&slots, "192.0.2.1", "seat");
        let _second = check(&slots, "::ffff:192.0.2.1", "seat");
        check(&slots, "192.0.2.1", "address");
        let _other = check(&slots, "192.0.2.2", "seat");
        drop(first);
        let _again = check(&slots, "192.0.2.1", "seat");
    }

    #[test]
    fn a_network_of_64_bits_is_one_address() {
        let slots = ConnectionSlots::new(CAPS);
        let _seats = [check(&slots, "2001:db8::1", "seat"), check(&slots, "2001:db8::2:0:0:1", "seat")];
        check(&slots, "2001:db8::3", "address");
        let _other = check(&slots, "2001:db8:0:1::1", "seat");
    }

    #[test]
    fn this_machine_is_counted_where_the_operator_says_so() {
        let slots = ConnectionSlots::new(CAPS);
        let _seats: Vec<_> = (0..4).map(|_| check(&slots, "127.0.0.1", "seat")).collect();
        let slots = ConnectionSlots::new(ConnectionCaps { counts_loopback: true, ..CAPS });
        let _seats: Vec<_> = (0..2).map(|_| check(&slots, "127.0.0.1", "seat")).collect();
        check(&slots, "127.0.0.1", "address");
    }

    #[test]
    fn behind_the_client_slots_are_health_slots_and_then_nothing() {
        let slots = ConnectionSlots::new(CAPS);
        let mut seats: Vec<_> = (0..4).map(|_| check(&slots, "::1", "seat")).collect();
        let mut health_slots: Vec<_> =
            (0..HEALTH_SLOTS).map(|_| check(&slots, "192.0.2.1", "stool")).collect();
        check(&slots, "192.0.2.1", "full");
        health_slots.pop();
        health_slots.push(check(&slots, "192.0.2.1", "stool"));
        check(&slots, "192.0.2.1", "full");
        seats.pop();
        seats.push(check(&slots, "192.0.2.1", "seat"));
        drop((seats, health_slots));
        assert!(slots.taken.lock().by_origin.is_empty());
    }
}
