#![cfg(test)]
//! Every verdict can be derived again out of what is stored, and one that somebody changed is found by name.

#[path = "replay/life.rs"]
mod life;
