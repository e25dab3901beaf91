import type { ComponentChildren, JSX } from "preact";
import type { ApiError } from "../api/client";
import { Text } from "../words/text";
import { clockTime } from "../words/time";
import type { Resource } from "./resource";

interface LoadedProps<T> {
  resource: Resource<T>;
  /** What is loaded, for the sentence of the error. */
  what: string;
  children: (data: T) => ComponentChildren;
}

/** Shows a resource in its state: loading, error, old data or data. */
export function Loaded<T>({ resource, what, children }: LoadedProps<T>): JSX.Element {
  const data = resource.data.value;
  const error = resource.error.value;
  if (data === null) {
    if (error !== null) return <ErrorView error={error} what={what} retry={() => void resource.reload()} />;
    return <Skeleton what={what} />;
  }
  return (
    <>
      {error !== null && <StaleNote error={error} asOf={resource.asOf.value} resource={resource} />}
      <div class={error === null ? "loaded" : "loaded old"}>{children(data)}</div>
    </>
  );
}

/** Grey lines that appear after 150 ms. */
export function Skeleton({ what }: { what: string }): JSX.Element {
  return (
    <div class="skeleton" role="status">
      <span class="hidden-text">Loading {what}</span>
      {[0, 1, 2, 3, 4].map(line => (
        <span class="skeleton-line" key={line} />
      ))}
    </div>
  );
}

interface ErrorViewProps {
  error: ApiError;
  what: string;
  retry?: () => void;
}

export function ErrorView({ error, what, retry }: ErrorViewProps): JSX.Element {
  return (
    <div class="notice error" role="alert">
      <p>
        <strong>Could not load {what}.</strong> <Text value={error.message} />
      </p>
      <ErrorDetails error={error} />
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Code, request id and where the code is explained. */
export function ErrorDetails({ error }: { error: ApiError }): JSX.Element {
  return (
    <p class="quiet">
      Code <code>{error.code}</code>
      {error.requestId !== null && (
        <>
          , request <code>{error.requestId}</code>
        </>
      )}
      {error.status > 0 && (
        <>
          . <code>docs/api.md</code> explains the codes; <a href="../docs/">the API</a> describes the request.
        </>
      )}
    </p>
  );
}

function StaleNote<T>({ error, asOf, resource }: { error: ApiError; asOf: number; resource: Resource<T> }): JSX.Element {
  return (
    <p class="notice warn" role="status">
      As of <time dateTime={new Date(asOf).toISOString()}>{clockTime(asOf)}</time>. <Text value={error.message} />{" "}
      <button type="button" class="small" onClick={() => void resource.reload()}>
        Try again
      </button>
    </p>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}
