import type { Decimal } from "./decimal";

export type Verdict = "approve" | "alert" | "review" | "block";
/** The words a rule may use: `allow` is `approve`, `deny` is `block`. */
export type RuleVerdict = Verdict | "allow" | "deny";

export interface Position {
  line: number;
  column: number;
}

export interface Diagnostic extends Position {
  code: string;
  severity: "error" | "warning";
  message: string;
  help: string | null;
  end: Position;
  /** The text that corrects the marked place, if there is exactly one. */
  replacement?: string | null;
}

export interface Cost {
  instructions: number;
  host_calls: number;
  history_lookups: number;
}

export interface Estimate {
  transactions: number;
  fuel: number;
  history_bytes: number;
  kept_bytes: number;
}

export interface RuleSource {
  kind: "api" | "upload" | "file" | "git";
  path?: string;
  commit?: string;
}

export interface Quarantine {
  cause: string;
  reason: string;
  since: string;
}

export interface RefusedChange {
  path: string;
  line: number | null;
  column: number | null;
  message: string;
}

/** What the list of rules and one rule have in common. */
interface RuleCore {
  id: string;
  name: string;
  description: string | null;
  verdict: RuleVerdict;
  score: number;
  status: string;
  source: RuleSource;
  created_at: string;
  updated_at: string;
  quarantine: Quarantine | null;
  refused_change: RefusedChange | null;
}

export interface RuleSummary extends RuleCore {
  cost: Cost;
  /** Transactions that it matched in the last 24 hours; null where the service does not count them. */
  hits: number | null;
  failures: number | null;
  /** Matches in each of these hours, the oldest first; the last hour is under way. */
  hourly: number[];
}

/** What a rule did lately. */
export interface RuleHits {
  /** The latest first. */
  hits: VerdictRow[];
  /** Matches in each of the last 24 hours, the oldest first; the last hour is under way. */
  hourly: number[];
  /** Transactions on which it failed in these hours. */
  failures: number;
}

export interface Incomparable extends Position {
  test: string;
  field: string;
  got: string;
  wanted: string;
  count: number;
}

export interface Rule extends RuleCore {
  /** The `ETag` of its script, which a change names; not part of the answer's body. */
  tag?: string | null;
  script: string | null;
  reason: string;
  warnings: Diagnostic[];
  estimate: Estimate | null;
  incomparable: Incomparable[];
  progress: number | null;
  module: { abi_version: number; bytes: number; cost: Cost; sha256: string };
}

export interface CompiledScript {
  name: string;
  description: string | null;
  verdict: RuleVerdict;
  score: number;
  reason: string;
  cost: Cost;
  estimate: Estimate | null;
  fields: string[];
  lists: string[];
  sha256: string;
}

export interface CheckResult {
  diagnostics: Diagnostic[];
  /** Null while it does not compile. */
  rule: CompiledScript | null;
  /** Why a save would be refused although it compiles. */
  refusal: { code: string; error: string } | null;
  /** How many of the latest transactions it would have stopped, if these are most; null without an estimate. */
  would_have_matched: string | null;
}

/** One judged transaction in a feed or a list of hits. */
export interface VerdictRow {
  sequence: Decimal;
  transaction_id: string;
  accepted_at: string;
  amount: Decimal;
  currency: string;
  source: string | null;
  destination: string | null;
  verdict: Verdict;
  score: number;
  reason: string | null;
  rules: string[];
}

/** What the event stream tells of the time since the last tick. */
export interface Tick {
  at: string;
  sequence: Decimal;
  counts: Record<Verdict, number>;
  p50_us: number | null;
  p99_us: number | null;
  in_flight: number;
}

/** Verdicts of the event stream, and the number of those that it left out. */
export interface VerdictBatch {
  verdicts: VerdictRow[];
  n_more: number;
}

/** Only the severest rules have a name and a reason. */
export interface TriggeredRule {
  instruction_id: string;
  name?: string;
  verdict: RuleVerdict;
  score: number;
  reason?: string;
}

/** Only the first rules have a name. */
export interface FailedRule {
  instruction_id: string;
  name?: string;
  failure: string;
}

/** A change of the status of a transaction that a ledger reported. */
export interface StatusUpdate {
  sequence: Decimal;
  before: string | null;
  after: string;
  event: string;
  accepted_at: string;
}

/** The evaluation within a stored transaction; `verdict` is missing if nobody asked for one. */
export interface StoredEvaluation {
  verdict?: Verdict | null;
  score?: number | null;
  reason?: string | null;
  triggered?: TriggeredRule[] | null;
  failures?: FailedRule[] | null;
  rule_set_version?: Decimal | null;
  evaluated_at?: string | null;
}

export interface Replay {
  transaction_id: string;
  sequence: Decimal;
  outcome: "equal" | "differs" | "taken_over" | "not_derived";
  differences: { what: string; stored: string; derived: string }[];
  failures: { name: string; failure: string }[];
}

export interface NamedList {
  name: string;
  count: number;
  sha256: string;
  source: RuleSource;
  /** Rules that look into it. */
  used_by: { id: string; name: string }[];
}

export interface ListWithEntries extends NamedList {
  entries: string[];
}

/** An entry that may not be what was meant. */
export interface ListWarning {
  position: number;
  entry: string;
  message: string;
}

export interface SavedList extends NamedList {
  warnings: ListWarning[];
}

/** How the service reads a text as a list. */
export interface ListReading {
  count: number;
  /** The first lines that are not empty; `entry` is null for a comment. */
  lines: { line: number; text: string; entry: string | null }[];
  n_more_lines: number;
  warnings: ListWarning[];
  n_more_warnings: number;
}

export interface FailedFile {
  path: string;
  line: number | null;
  column: number | null;
  message: string;
}

export interface GitStatus {
  configured: boolean;
  url: string | null;
  branch: string | null;
  local_path: string;
  current_commit: string | null;
  remote_commit: string | null;
  up_to_date: boolean;
  ahead: number;
  behind: number;
  modified: string[];
  deleted: string[];
  untracked: string[];
  history_rewritten: boolean;
  last_sync: string | null;
  last_error: { at: string; code: string; message: string } | null;
  failed: FailedFile[];
  in_the_way: string[];
  not_written: { kind: string; name: string; path: string | null; message: string }[];
}

export interface Readiness {
  status: "ready" | "starting" | "stopping" | "unavailable";
  checks: Record<string, string>;
}

export interface Setting {
  name: string;
  /** Null if it is a secret that is set. */
  value: string | null;
  origin: "environment" | "file" | "default";
}

/** The state of the service; null is what the system does not tell. */
export interface SystemState {
  version: string;
  started_at: string;
  uptime_seconds: number;
  rule_set_version: Decimal;
  process: { resident_bytes: number; cpu_seconds: number; open_files: number } | null;
  disk: { free_bytes: number | null; store_bytes: number };
  history: {
    transactions: number;
    series: number;
    resident_bytes: number;
    limit_bytes: number;
    spilled_bytes: number;
  };
  connections: number;
  in_flight: number;
  settings: Setting[];
}

export interface AlertDeadLetter {
  id: string;
  transaction_id: string;
  attempts: number;
  created_at: string;
  dead_since: string;
  error: string;
}

export interface LedgerDeadLetter {
  id: string;
  transaction_id: string;
  is_event: boolean;
  created_at: string;
  found_at: string;
  reason: string;
  detail: string;
}

export interface Stats {
  from: string;
  to: string;
  step_seconds: number;
  steps: number;
  series: { key: string; values: number[] }[];
  latency: { p50_us: (number | null)[]; p99_us: (number | null)[] };
}
