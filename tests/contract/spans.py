"""Prints the spans of an OTLP export, read from standard input by OpenTelemetry's own messages, as JSON."""

import json
import sys

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def values(attributes):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


def shown(resource, span):
    return {
        "name": span.name,
        "trace": span.trace_id.hex(),
        "span": span.span_id.hex(),
        "parent": span.parent_span_id.hex(),
        "kind": span.kind,
        "status": span.status.code,
        "nanoseconds": span.end_time_unix_nano - span.start_time_unix_nano,
        "attributes": values(span.attributes),
        "resource": values(resource.attributes),
    }


request = ExportTraceServiceRequest.FromString(sys.stdin.buffer.read())
spans = [
    shown(of_resource.resource, span)
    for of_resource in request.resource_spans
    for of_scope in of_resource.scope_spans
    for span in of_scope.spans
]
print(json.dumps(spans))
