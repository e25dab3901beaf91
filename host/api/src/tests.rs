//! Tests of the API: one request in, one response out, without a socket.

mod caps;
mod catalogue;
mod document;
mod flows;
mod modules;
mod pages;
mod refusals;
mod surroundings;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tollgate_engine::artifacts::{Artifacts, Compiler};
use tollgate_engine::evaluation::{Breakers, EvaluatorPool};
use tollgate_engine::policy::Policy;
use tollgate_engine::registry::{Lists, Registry, RuleSet};
use tollgate_engine::sandbox::Sandbox;
use tollgate_git::Worker;
use tollgate_history::History;
use tollgate_model::clock::{Clock, SystemClock};
use tollgate_model::transaction::AmountAgreement;
use tollgate_model::transaction::RequestSettings;
use tollgate_store::{Store, StoredPast};
use tollgate_telemetry::config::LedgerIdentity;
use tollgate_telemetry::config::{LedgerKind, LeftOutTreatment, UnreadableVerdict};
use tower::ServiceExt as _;

use super::*;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use tollgate_ledger::payments::{self, Payments};
use tollgate_pipeline::monitor::{self, Monitor};
use tollgate_rules::git_sync::{self, GitSync, PendingEdits};
use tollgate_rules::intake::{self, Intake, RulesDirectory};
use tollgate_rules::replay::{Audit, AuditDeps};
use tollgate_telemetry::config::{GitSettings, Settings};
use tollgate_telemetry::readiness::ReadinessChecks;

/// A response, read to its end.
#[derive(Debug)]
struct FullResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl FullResponse {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// A whole service behind the API, with its store in a temporary directory.
struct Fixture {
    state: ApiState,
    runtime: Runtime,
    _directory: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let directory = TempDir::new().unwrap();
        let state = runtime.block_on(state(directory.path()));
        Self { state, runtime, _directory: directory }
    }

    fn router(&self) -> Router {
        router(self.state.clone())
    }

    fn answer_of(&self, router: Router, request: Request<Body>) -> FullResponse {
        self.runtime.block_on(async {
            let response = router.oneshot(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap().to_vec();
            FullResponse { status: parts.status, headers: parts.headers, body }
        })
    }

    /// Returns the response of the whole API.
    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> FullResponse {
        self.answer_of(self.router(), request(method, path, headers, body))
    }

    fn get(&self, path: &str) -> FullResponse {
        self.send("GET", path, &[], "")
    }
}

/// Returns the whole API, for a server that takes a router.
fn router(state: ApiState) -> Router {
    as_router(ApiService::new(state))
}

fn as_router(api_service: ApiService) -> Router {
    Router::new().fallback(move |request| api_service.clone().answer(request))
}

async fn state(directory: &Path) -> ApiState {
    let (clock, sandbox): (Arc<dyn Clock>, _) = (Arc::new(SystemClock), Sandbox::new().unwrap());
    let store = Store::open(directory).await.unwrap();
    let history = Arc::new(History::over(Arc::new(StoredPast::of(&store))));
    let (registry, metrics) = (empty_registry(), Arc::<Metrics>::default());
    let settings = Settings { data_dir: directory.to_owned(), ..Settings::read(|_| Ok(None)).unwrap() };
    let activity = Activity::start(&settings, 1 << 26, &store, &metrics, &registry, &clock);
    let checks = ReadinessChecks::new(Arc::clone(&clock), Arc::clone(&metrics));
    let holds = tollgate_telemetry::holding::PaymentHolds::new(&checks, settings.when_not_ready);
    let deps = intake::IntakeDeps {
        clock: Arc::clone(&clock),
        history: Arc::clone(&history),
        registry: Arc::clone(&registry),
        store: store.clone(),
        metrics: Arc::clone(&metrics),
        breakers: Arc::new(Breakers::new(Duration::ZERO).0),
        policy: Policy::default(),
        artifacts: Arc::new(Artifacts::open(directory, &sandbox, Compiler::in_this_process())),
        sandbox: sandbox.clone(),
        lists: intake::ListGuard::new(&checks, tollgate_telemetry::config::ListsShrink::Warn),
        currencies: std::collections::BTreeSet::new(),
        confirms_broad_rules: false,
        saves_per_minute: std::num::NonZeroU32::MAX,
        required: intake::RequiredRules::new(&checks, 0),
        sources: tollgate_rules::intake::NewSources::new(tollgate_telemetry::config::PartialSource::Hold),
        holds: holds.clone(),
        checks: checks.clone(),
        sink: None,
    };
    let deps_of_git = (Arc::clone(&registry), Arc::clone(&clock), Arc::clone(&metrics), checks.clone());
    let intake = Intake::start(deps, &RulesDirectory::by_default(directory.join("rules"))).await.unwrap();
    let git = git(&deps_of_git, intake.clone(), directory).await;
    let (monitor, _) = Monitor::start(monitor::MonitorDeps {
        alerting: Alerting::silent(store.clone(), Arc::clone(&clock)),
        clock: Arc::clone(&clock),
        history,
        restoring: Arc::new(monitor::Restoring::done()),
        registry,
        holds,
        store: store.clone(),
        commits: checks.add("commits"),
        pool: EvaluatorPool::start(NonZeroUsize::MIN, &sandbox).unwrap(),
        breakers: Arc::new(Breakers::new(Duration::ZERO).0),
        metrics: Arc::clone(&metrics),
        arrivals: Arc::new(monitor::AcceptanceOrder::after(None, Arc::clone(&clock))),
        in_flight_max: NonZeroUsize::new(16).unwrap(),
        amounts: AmountAgreement::Exact,
        hashes: None,
    })
    .unwrap();
    ApiState::new(ApiDeps {
        alerting: Alerting::silent(store.clone(), Arc::clone(&clock)),
        payments: payments(&monitor, &store, clock, &metrics).await,
        monitor: Arc::new(monitor),
        replays: replays(&store, sandbox, directory),
        intake: Arc::new(intake),
        git,
        ledger_keys: None,
        metrics,
        readiness: ready(ReadyStatus::Ready),
        hosts: Arc::new(hosts()),
        requests: RequestSettings::default(),
        activity,
        traces: None,
    })
}

async fn git(
    (registry, clock, metrics, checks): &(Arc<Registry>, Arc<dyn Clock>, Arc<Metrics>, ReadinessChecks),
    intake: Intake,
    directory: &Path,
) -> GitSync {
    let deps = git_sync::GitSyncDeps {
        intake,
        registry: Arc::clone(registry),
        clock: Arc::clone(clock),
        metrics: Arc::clone(metrics),
        checks: checks.clone(),
        settings: GitSettings::default(),
        directory: directory.join("git"),
        edits: Arc::new(PendingEdits::default()),
        worker: Worker::in_this_process(Duration::from_secs(10)),
        is_optional: false,
        instance: "1f".to_owned(),
    };
    GitSync::begin(deps).await.unwrap().0
}

fn empty_registry() -> Arc<Registry> {
    Arc::new(Registry::new(RuleSet::new(0, Vec::new(), Lists::default())))
}

async fn payments(
    monitor: &Monitor,
    store: &Store,
    clock: Arc<dyn Clock>,
    metrics: &Arc<Metrics>,
) -> Payments {
    let opened = Payments::open(payments::PaymentsDeps {
        kind: LedgerKind::Generic,
        identity: LedgerIdentity::Id,
        parent_wait: Duration::MAX,
        evaluates_rows: false,
        left_out: LeftOutTreatment::default(),
        unreadable: UnreadableVerdict::default(),
        alerting: Alerting::silent(store.clone(), Arc::clone(&clock)),
        monitor: monitor.clone(),
        store: store.clone(),
        clock,
        metrics: Arc::clone(metrics),
    });
    opened.await.unwrap()
}

fn hosts() -> AllowedHosts {
    AllowedHosts::new(["Gate.example".to_owned()], ["https://desk.example:8443".to_owned()])
}

fn replays(store: &Store, sandbox: Sandbox, directory: &Path) -> Replays {
    Replays::new(Audit::new(AuditDeps {
        store: store.clone(),
        executor: tokio::runtime::Handle::current(),
        artifacts: Arc::new(Artifacts::without_cache(&sandbox, Compiler::in_this_process())),
        sandbox,
        n_threads: NonZeroUsize::MIN,
        memory_bytes: 1 << 26,
        spill_dir: directory.to_owned(),
    }))
}

fn ready(status: ReadyStatus) -> ReadinessProbe {
    Arc::new(move || {
        Box::pin(async move { Readiness { status, checks: [("store", "fine".to_owned())].into() } })
    })
}

/// Builds a valid request; `headers` override the defaults, and an empty value removes a header.
fn request(method: &str, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path).body(body.into()).unwrap();
    let mut put = |name: &str, value: &str| {
        let name: axum::http::HeaderName = name.parse().unwrap();
        request.headers_mut().remove(&name);
        if !value.is_empty() {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
    };
    put("host", "localhost:8081");
    if method == Method::POST.as_str() {
        put("content-type", "application/json");
    }
    for (name, value) in headers {
        put(name, value);
    }
    request
}

/// Checks that an error has the common format and the status of the catalogue.
#[track_caller]
fn check_error(answer: &FullResponse, code: &str) {
    let shown = String::from_utf8_lossy(&answer.body);
    let found = ErrorCode::ALL.iter().find(|known| known.as_str() == code).expect("a code of the catalogue");
    assert_eq!(answer.status, found.status(), "{shown}");
    assert_eq!(answer.header("content-type"), "application/json", "{shown}");
    let body = answer.json();
    assert_eq!(body["code"], code, "{shown}");
    let error = body["error"].as_str().unwrap();
    assert!(!error.is_empty() && !error.contains(char::is_control) && !error.ends_with('.'), "{error}");
    let retry = if answer.status == StatusCode::SERVICE_UNAVAILABLE { "1" } else { "" };
    assert_eq!(answer.header("retry-after"), retry);
    check_surroundings(answer);
}

/// Checks the headers that every response has.
#[track_caller]
fn check_surroundings(answer: &FullResponse) {
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert!(!answer.header("cache-control").is_empty());
    assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("access-control-")));
}
