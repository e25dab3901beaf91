//! Real environments of the service: pods, hardened units, small machines. Debian's programs create each environment
//! around the real binary. Environments this machine cannot create are named and skipped.

mod causes;
mod clock;
mod deploy;
mod disk;
mod memory;
mod proxies;
mod supervisor;
mod table;
mod within;
