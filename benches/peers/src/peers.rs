//! The engines beside which Tollgate is measured, each used as its own documentation recommends.

pub(crate) mod cedar;
pub(crate) mod cel;
pub(crate) mod datalogic;
pub(crate) mod evalexpr;
pub(crate) mod quickjs;
pub(crate) mod regorus;
pub(crate) mod rhai;
pub(crate) mod zen;
