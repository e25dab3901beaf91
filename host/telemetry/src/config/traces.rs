//! The setting of traces. The SDK of OpenTelemetry reads the other variables of its standard itself.

use super::reader::{Variable, variable};

pub(super) const ENDPOINT: Variable = variable(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "an address such as http://collector:4318",
    "none",
    "Collector that receives traces of requests over OTLP (HTTP with protobuf), at the path `/v1/traces` below this address.",
)
.secret()
.explained_in("operations.md#traces");
