//! A health check for container images without another client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::timeout;
use tollgate_links::outbound::{self, GetResponse};

use super::offline::run_here;
use crate::cli::say;
use tollgate_telemetry::config::{Settings, load_dotenv, process_environment};

/// Time limit of the whole check.
const PATIENCE: Duration = Duration::from_secs(5);

/// Queries the service that the settings describe. Returns exit code 0 if it answers 200, otherwise 1.
pub(super) fn healthcheck(of_readiness: bool) -> u8 {
    let path = if of_readiness { "/readyz" } else { "/healthz" };
    match run_here(async { timeout(PATIENCE, ask(path)).await.context("no response in time")? }) {
        Some(Ok(GetResponse { status: 200, .. })) => 0,
        Some(Ok(GetResponse { status, body })) => {
            say(&format!("{path}: {status} {body}"));
            1
        }
        Some(Err(error)) => {
            say(&format!("{path}: {error:#}"));
            1
        }
        None => 1,
    }
}

async fn ask(path: &str) -> anyhow::Result<GetResponse> {
    load_dotenv()?;
    let settings = Settings::read(process_environment)?;
    let address = SocketAddr::new(reachable(settings.host), settings.port);
    Ok(outbound::get(address, path).await?)
}

/// Returns loopback for a service that listens on all addresses.
pub(super) const fn reachable(host: IpAddr) -> IpAddr {
    match host {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        host => host,
    }
}
