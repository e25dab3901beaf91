#![cfg(test)]
//! Where the service really runs: pods, hardened units, small machines. Each environment is made by the programs of Debian around the
//! real binary; one that this machine cannot make is named and left out.

#[path = "environments/causes.rs"]
mod causes;
#[path = "environments/deploy.rs"]
mod deploy;
#[path = "environments/memory.rs"]
mod memory;
#[path = "environments/supervisor.rs"]
mod supervisor;
#[path = "environments/table.rs"]
mod table;
#[path = "environments/within.rs"]
mod within;
