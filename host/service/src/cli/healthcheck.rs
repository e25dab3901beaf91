//! A health check for images that have no other program.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::timeout;
use tollgate_links::outbound::{self, GetResponse};

use super::offline::run_here;
use crate::cli::say;
use crate::config::{Settings, load_dotenv, process_environment};

/// For everything.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks the service that these settings describe. The exit code: 0 when it answers 200, otherwise 1.
pub(super) fn healthcheck(of_readiness: bool) -> u8 {
    let path = if of_readiness { "/readyz" } else { "/healthz" };
    match run_here(async { timeout(PATIENCE, ask(path)).await.context("it does not answer in time")? }) {
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

/// A service that listens everywhere listens on loopback.
const fn reachable(host: IpAddr) -> IpAddr {
    match host {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        host => host,
    }
}
