//! Build information.

use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use tollgate_guest_abi::ABI_VERSION;

pub(super) fn register(registry: &mut Registry) {
    let labels =
        vec![("version", env!("CARGO_PKG_VERSION").to_owned()), ("abi_version", ABI_VERSION.to_string())];
    registry.register("build", "Build of the service", Info::new(labels));
}
