//! The catalogue of error codes. The meaning and the status of a code never change.
//!
//! `docs/api.md` documents the catalogue; a test keeps the two equal.

use axum::http::StatusCode;

macro_rules! catalogue {
    ($($(#[doc = $meaning:literal])+ $name:ident: $status:ident, $code:literal, $help:literal;)+) => {
        /// An error code for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum ErrorCode {
            $($(#[doc = $meaning])+ $name,)+
        }

        impl ErrorCode {
            /// All error codes.
            pub(crate) const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name),+];

            /// Returns the `code` of the error object.
            #[must_use]
            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(ErrorCode::$name => $code,)+ }
            }

            /// Returns the HTTP status of responses with this code.
            #[must_use]
            pub(crate) const fn status(self) -> StatusCode {
                match self { $(ErrorCode::$name => StatusCode::$status,)+ }
            }

            /// Returns what the error means, in one sentence.
            #[must_use]
            pub(crate) fn meaning(self) -> &'static str {
                match self { $(ErrorCode::$name => concat!($($meaning),+).trim_start(),)+ }
            }

            /// Returns what the caller can do about the error, in one sentence, for `docs/api.md`.
            #[cfg(test)]
            pub(crate) const fn help(self) -> &'static str {
                match self { $(ErrorCode::$name => $help,)+ }
            }
        }
    };
}

/// Returns whether a request that got the error with this code may succeed if it is sent again later.
#[must_use]
pub fn is_temporary(code: &str) -> bool {
    let is_temporary =
        |status| matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::REQUEST_TIMEOUT);
    ErrorCode::ALL.iter().any(|known| known.as_str() == code && is_temporary(known.status()))
}

catalogue! {
    /// The body is not JSON.
    MalformedJson: BAD_REQUEST, "malformed_json",
        "Send one JSON value according to RFC 8259; the message names the fault, its line and its column.";
    /// The body is not UTF-8.
    InvalidUtf8: BAD_REQUEST, "invalid_utf8",
        "Encode the body as UTF-8; the message says how many bytes are valid.";
    /// An object of the body contains a key twice, which parsers interpret differently.
    DuplicateKey: BAD_REQUEST, "duplicate_key",
        "Send each key once, at every depth; an escaped spelling is the same key.";
    /// The body nests arrays and objects too deeply.
    TooDeep: BAD_REQUEST, "too_deep",
        "Nest at most 32 arrays and objects.";
    /// An object of the body has too many keys.
    TooManyKeys: BAD_REQUEST, "too_many_keys",
        "Send at most as many keys in an object as the message says; `SERVICE_OBJECT_KEYS_MAX` sets the limit, 1,024 by default.";
    /// The `amount`, or a number of a body that is no transaction, has more digits than the service keeps exactly.
    NumberOutOfRange: BAD_REQUEST, "number_out_of_range",
        "Use at most 38 digits, before and after the point together.";
    /// A text or a key of the body contains the character NUL.
    NulCharacter: BAD_REQUEST, "nul_character",
        "Remove the character NUL.";
    /// The body, or the part of it that is a transaction, is JSON but not an object.
    NotAnObject: BAD_REQUEST, "not_an_object",
        "Send an object with the fields of the interface.";
    /// A required field is missing or null.
    MissingField: BAD_REQUEST, "missing_field",
        "Send the field that `field` names.";
    /// A member of a transaction is a misspelled field of the interface.
    MisspelledField: BAD_REQUEST, "misspelled_field",
        "Spell the field as the message does, or remove the member.";
    /// A field has an invalid value.
    InvalidField: BAD_REQUEST, "invalid_field",
        "Send what the message asks for in the field that `field` names.";
    /// The script does not compile; nothing is saved.
    CompileError: BAD_REQUEST, "compile_error",
        "Correct what `diagnostics` lists; each entry has a position, and most have a help text.";
    /// The module failed admission checks; nothing is saved.
    ModuleRefused: BAD_REQUEST, "module_refused",
        "Correct the failed checks that `checks` lists; `tollgate check` runs the same checks, except `compilation`.";
    /// The list, its name or one of its entries is invalid; nothing is saved.
    InvalidList: BAD_REQUEST, "invalid_list",
        "Correct what the message names; `docs/rules.md` describes the format.";
    /// The body ended before it was complete.
    IncompleteBody: BAD_REQUEST, "incomplete_body",
        "Send the whole body, with the announced length or in complete chunks.";
    /// The request names no host, several hosts, or an invalid one.
    InvalidHost: BAD_REQUEST, "invalid_host",
        "Send one `Host` header with a name or an address and, if needed, a port.";
    /// The service does not accept the address; nothing is cloned.
    GitAddressInvalid: BAD_REQUEST, "git_address_invalid",
        "Send an address as the message describes it, with user and password percent-encoded.";
    /// The event is not signed, and events must be; nothing is stored.
    SignatureMissing: UNAUTHORIZED, "signature_missing",
        "Sign it according to Standard Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`), or with \
         `X-Blnk-Timestamp` and `X-Blnk-Signature`.";
    /// The signature does not match this request under any key that the service knows; nothing is stored.
    SignatureInvalid: UNAUTHORIZED, "signature_invalid",
        "Sign the body as it is sent, byte by byte, with the secret that the service was given.";
    /// The signature is valid, but was made more than 300 seconds before or after now; nothing is stored.
    SignatureExpired: UNAUTHORIZED, "signature_expired",
        "Sign every attempt anew, and set the clock.";
    /// A web page whose origin is not allowed asked for a change.
    OriginNotAllowed: FORBIDDEN, "origin_not_allowed",
        "Send the request without a web page or from a page of the same host, or have its origin configured.";
    /// The rule or the change needs what the operator's policy does not grant; nothing is changed.
    PolicyDenied: FORBIDDEN, "policy_denied",
        "Write the rule without what `missing` lists, or have it granted in the policy file.";
    /// The service may not connect to this remote; nothing was sent to it.
    GitRemoteNotAllowed: FORBIDDEN, "git_remote_not_allowed",
        "Use a repository at a public address over HTTPS, or have its scheme, host or private address configured.";
    /// The rule would cost more than its author may use, by an estimate against what is stored; nothing is saved.
    TooExpensive: FORBIDDEN, "too_expensive",
        "Write the rule as the message says, or have `scans` or `history_bytes` granted in the policy file.";
    /// Nothing is served under this path.
    NotFound: NOT_FOUND, "not_found",
        "Look up the path in `/openapi.json`.";
    /// No transaction with this id was judged.
    TransactionNotFound: NOT_FOUND, "transaction_not_found",
        "Check the id; ids are compared byte by byte.";
    /// No instruction with this id is in force.
    InstructionNotFound: NOT_FOUND, "instruction_not_found",
        "Look up the ids in force with `GET /instructions`.";
    /// No list with this name is in force.
    ListNotFound: NOT_FOUND, "list_not_found",
        "Look up the names in force with `GET /lists`.";
    /// No dead letter has this id.
    DeadLetterNotFound: NOT_FOUND, "dead_letter_not_found",
        "Look up the ids with `GET /alerts/dead-letters` or `GET /ledger/dead-letters`.";
    /// The remote has no such branch, or no branch at all; the last good rules stay in force.
    GitBranchNotFound: NOT_FOUND, "git_branch_not_found",
        "Name a branch that the remote has, or restore the branch.";
    /// The path is served, but not for this method.
    MethodNotAllowed: METHOD_NOT_ALLOWED, "method_not_allowed",
        "Use a method that the `Allow` header lists.";
    /// The request was not complete in time; nothing is stored.
    RequestTimeout: REQUEST_TIMEOUT, "request_timeout",
        "Send it again, head and body without long pauses; `SERVICE_HEAD_TIMEOUT` and `SERVICE_BODY_TIMEOUT` set the limits.";
    /// A different transaction with this id was accepted before, and stands.
    TransactionConflict: CONFLICT, "transaction_conflict",
        "Send a new transaction under a new id; to repeat a request, send it unchanged: `field` names a field that differs.";
    /// A different transaction with this hash was judged before; nothing is stored.
    DuplicateHash: CONFLICT, "duplicate_hash",
        "If it is the same payment, use the verdict of `transaction_id`; otherwise send another hash, or none.";
    /// This transaction was stored without a verdict, and nobody has asked for one.
    NotJudged: CONFLICT, "not_judged",
        "Ask for a verdict with `POST /inject` first.";
    /// An instruction in force has this name; nothing is saved.
    NameTaken: CONFLICT, "name_taken",
        "Choose another name for the rule, or remove the instruction that the message names.";
    /// The instruction is being changed; nothing is saved.
    InstructionChanging: CONFLICT, "instruction_changing",
        "Send the request again when `GET /instructions/{id}` shows the change, or remove the instruction.";
    /// The instruction did not come over this endpoint, such as one from a file; nothing is saved.
    InstructionTaken: CONFLICT, "instruction_taken",
        "Change the source that the message names: a file, or a script or module of the API with its own path.";
    /// The maximum number of rules is in force; nothing is saved.
    TooManyRules: CONFLICT, "too_many_rules",
        "Remove instructions that are no longer needed.";
    /// The change would leave fewer rules in force than the operator requires; nothing is changed.
    TooFewRules: CONFLICT, "too_few_rules",
        "Save another rule first, or check repository and branch; `SERVICE_RULES_REQUIRED` sets the number.";
    /// The rule would have matched most of the latest transactions; nothing is saved.
    ConfirmationRequired: CONFLICT, "confirmation_required",
        "Check the condition of the rule; if it is meant so, send the request again with `?confirm=true`.";
    /// The list comes from a file; nothing is saved or removed.
    ListTaken: CONFLICT, "list_taken",
        "Change or remove the file that the message names, or choose another name.";
    /// Lists of the commit are refused, and the whole commit is held back; nothing is changed.
    ListsRefused: CONFLICT, "lists_refused",
        "Correct the lists that `GET /git/status` names under `failed`, or send `force` to take the rest of the commit.";
    /// The lists in force have reached their maximum number or size; nothing is saved.
    TooManyLists: CONFLICT, "too_many_lists",
        "Remove lists that are no longer needed.";
    /// No webhook for alerts is configured; nothing is changed.
    AlertsNotConfigured: CONFLICT, "alerts_not_configured",
        "Have one configured with `ALERT_WEBHOOK_URL`.";
    /// Another operation on the repository is in progress.
    GitBusy: CONFLICT, "git_busy",
        "Send the request again when the other operation has ended.";
    /// No repository is configured.
    GitNotConfigured: CONFLICT, "git_not_configured",
        "Clone one with `POST /git/clone`, or have one configured.";
    /// The remote's branch does not descend from the commit in force; its rules stay, and nothing is pushed.
    GitHistoryRewritten: CONFLICT, "git_history_rewritten",
        "Send `POST /git/sync` with `force` true to take the branch as it is now, or restore the branch.";
    /// No branch is configured, and the repository's default branch has changed to one that is not a mere renaming: the
    /// old name still exists, or the commit in force is not in its history. The rules stay.
    GitBranchMoved: CONFLICT, "git_branch_moved",
        "Name the branch with `WATCH_SCRIPT_GIT_BRANCH`, or send `POST /git/sync` with `force` true to take the new default branch.";
    /// The local branch and the remote branch have diverged; nothing is pulled.
    GitDiverged: CONFLICT, "git_diverged",
        "Merge the two with git in the local path, or clone anew.";
    /// The work tree has changes; nothing is pulled.
    GitDirty: CONFLICT, "git_dirty",
        "Push them with `POST /git/push` or revert them; `POST /git/sync` takes the rules without touching them.";
    /// The remote refused the push; nothing changed here or there.
    GitPushRefused: CONFLICT, "git_push_refused",
        "Send `POST /git/sync` if the remote has moved on, and push again; or obtain permission to push to the branch.";
    /// The content in force is not the one that `If-Match` or `cursor` names; nothing is changed.
    PreconditionFailed: PRECONDITION_FAILED, "precondition_failed",
        "Read it again, compare it with your change, and send the change with the new `ETag`; or begin again without `cursor`.";
    /// The body is larger than this path accepts.
    BodyTooLarge: PAYLOAD_TOO_LARGE, "body_too_large",
        "Send a smaller body; the message gives the limit.";
    /// The URL is too long.
    UrlTooLong: URI_TOO_LONG, "url_too_long",
        "Keep the URL within 8 KiB.";
    /// The `Content-Type` is not one that this path accepts: JSON, for a list also plain text, for a module
    /// WebAssembly.
    UnsupportedMediaType: UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type",
        "Send `Content-Type: application/json` in UTF-8, for a module `application/wasm`, without a `Content-Encoding`.";
    /// The request is addressed to a host that is not this service.
    HostNotAllowed: MISDIRECTED_REQUEST, "host_not_allowed",
        "Use `localhost` or an address, or have the name added to `SERVICE_ALLOWED_HOSTS`.";
    /// The commit exceeds a limit of the service; the last good rules stay in force.
    GitRulesOverLimit: UNPROCESSABLE_ENTITY, "git_rules_over_limit",
        "Keep the repository within the limits that the message names.";
    /// The log before this verdict is too long to be read for one request.
    ReplayTooLong: UNPROCESSABLE_ENTITY, "replay_too_long",
        "Run `tollgate audit replay`, which reads it once for all verdicts.";
    /// The source saves rules too often; nothing is saved.
    TooManySaves: TOO_MANY_REQUESTS, "too_many_saves",
        "Send the request again after the seconds that `Retry-After` names; `SERVICE_SAVES_PER_MINUTE` sets the limit.";
    /// The service failed, and the request is not at fault.
    InternalError: INTERNAL_SERVER_ERROR, "internal_error",
        "Report it with the time; the log says more.";
    /// The local clone cannot be read or written; the last good rules stay in force.
    GitCloneUnusable: INTERNAL_SERVER_ERROR, "git_clone_unusable",
        "Check the log; send `POST /git/sync`, which makes a new clone if needed.";
    /// The process that handles data from the remote ended early; the last good rules stay in force.
    GitWorkerFailed: INTERNAL_SERVER_ERROR, "git_worker_failed",
        "Try again; if it persists, do not trust the remote, and check the log.";
    /// The remote cannot be reached; the last good rules stay in force.
    GitUnreachable: BAD_GATEWAY, "git_unreachable",
        "Check the address and the network; the service keeps trying.";
    /// The remote refused the credentials, or requires credentials that are missing.
    GitCredentialsRefused: BAD_GATEWAY, "git_credentials_refused",
        "Send or configure credentials that may read the repository; a private repository may also not exist.";
    /// The remote did not answer as a Git repository does, or its identity cannot be verified; the message says which.
    GitRemoteFailed: BAD_GATEWAY, "git_remote_failed",
        "Do what the message says; docs/rules.md lists the messages.";
    /// The remote sent more than the service accepts; the last good rules stay in force.
    GitTransferTooLarge: BAD_GATEWAY, "git_transfer_too_large",
        "Keep rules in a repository of their own, below 256 MiB, 200,000 objects and 32 MiB for each object.";
    /// The service is at its limit of concurrent work; nothing is stored.
    Overloaded: SERVICE_UNAVAILABLE, "overloaded",
        "Send the request again after the seconds that `Retry-After` names.";
    /// Modules cannot be compiled now; nothing is stored.
    CompilerUnavailable: SERVICE_UNAVAILABLE, "compiler_unavailable",
        "Send the request again after the seconds that `Retry-After` names; if it persists, the log says why.";
    /// The store did not answer or did not accept the data; nothing is stored.
    Unavailable: SERVICE_UNAVAILABLE, "unavailable",
        "Send the request again, unchanged, after the seconds that `Retry-After` names.";
    /// The history is still loading; nothing is stored.
    Starting: SERVICE_UNAVAILABLE, "starting",
        "Send the request again after the seconds that `Retry-After` names; `/readyz` shows the progress.";
    /// The history is over its memory limit, and no more of it can leave memory; or the part that a status change needs cannot
    /// be read from the disk. Nothing is stored.
    HistoryUnavailable: SERVICE_UNAVAILABLE, "history_unavailable",
        "Send the request again after the seconds that `Retry-After` names; the operator finds the cause in the log.";
    /// A check of the rules or lists is failing, and the operator has new payments refused meanwhile; nothing is stored.
    NotReady: SERVICE_UNAVAILABLE, "not_ready",
        "Send the request again after the seconds that `Retry-After` names; `/readyz` says what the check lacks.";
    /// The service is stopping; nothing is stored.
    Stopping: SERVICE_UNAVAILABLE, "stopping",
        "Send the request again, unchanged, after the seconds that `Retry-After` names.";
    /// The remote took too long; the last good rules stay in force.
    GitTimeout: GATEWAY_TIMEOUT, "git_timeout",
        "Try again; `SERVICE_GIT_TIMEOUT` sets the limit for one operation.";
}
