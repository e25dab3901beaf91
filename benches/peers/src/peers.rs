//! The engines Tollgate is compared with, each used as its documentation recommends.

pub(crate) mod cedar;
pub(crate) mod cel;
pub(crate) mod datalogic;
pub(crate) mod evalexpr;
pub(crate) mod quickjs;
pub(crate) mod regorus;
pub(crate) mod rhai;
pub(crate) mod zen;
