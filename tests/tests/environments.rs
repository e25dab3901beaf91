#![cfg(test)]
//! Real environments of the service: pods, hardened units, small machines. Debian's programs create each environment
//! around the real binary. Environments this machine cannot create are named and skipped.

#[path = "environments/causes.rs"]
mod causes;
#[path = "environments/clock.rs"]
mod clock;
#[path = "environments/deploy.rs"]
mod deploy;
#[path = "environments/disk.rs"]
mod disk;
#[path = "environments/memory.rs"]
mod memory;
#[path = "environments/proxies.rs"]
mod proxies;
#[path = "environments/supervisor.rs"]
mod supervisor;
#[path = "environments/table.rs"]
mod table;
#[path = "environments/within.rs"]
mod within;
