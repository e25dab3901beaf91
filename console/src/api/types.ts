import type { Decimal } from "./decimal";
import type { ExactMember, IdMember } from "./json";
import type { components } from "./schema";

/** The description of the API, of which `npm run types` writes `schema.d.ts`. Bodies of requests have these types. */
export type Schemas = components["schemas"];

/** What `parseAnswer` makes of a value: some members become exact numbers, and ids become texts. */
type Parsed<T, Member = ""> = Member extends ExactMember
  ? Decimal | Extract<T, null | undefined>
  : Member extends IdMember
    ? string | Extract<T, null | undefined>
    : T extends (infer Item)[]
      ? Parsed<Item>[]
      : T extends object
        ? { [Name in keyof T]: Parsed<T[Name], Name> }
        : T;

/** A type of the description, as the console reads it. */
type Answer<Name extends keyof Schemas> = Parsed<Schemas[Name]>;

export type DeadLetters = Answer<"DeadLetters">;
export type DeadLettersView = Answer<"DeadLettersView">;
export type Diagnostic = Answer<"Diagnostic">;
export type ErrorBody = Answer<"Error">;
export type FailedFile = Answer<"FailedFile">;
export type FailedRule = Answer<"FailedRule">;
export type Failure = Answer<"Failure">;
export type FinalVerdict = Answer<"FinalVerdict">;
export type GitClone = Answer<"GitClone">;
export type GitPush = Answer<"GitPush">;
export type GitStatus = Answer<"GitStatus">;
export type GitSync = Answer<"GitSync">;
export type Hits = Answer<"Hits">;
export type Instruction = Answer<"Instruction">;
export type InstructionSource = Answer<"InstructionSource">;
export type InstructionSummary = Answer<"InstructionSummary">;
export type List = Answer<"List">;
export type ListReading = Answer<"ListReading">;
export type ListWithEntries = Answer<"ListWithEntries">;
export type Position = Answer<"Position">;
export type Readiness = Answer<"Readiness">;
export type SavedList = Answer<"SavedList">;
export type ScriptCheck = Answer<"ScriptCheck">;
export type Stats = Answer<"Stats">;
export type StatusUpdate = Answer<"StatusUpdate">;
export type StatusUpdates = Answer<"StatusUpdates">;
export type StoredEvaluation = Answer<"StoredEvaluation">;
export type System = Answer<"System">;
export type SystemSetting = Answer<"SystemSetting">;
/** The words a rule may use: `allow` is `approve`, `deny` is `block`. */
export type Verdict = Answer<"Verdict">;
export type VerdictRow = Answer<"VerdictRow">;

/** In the description, the outcome and the failures are plain strings; these are their possible values. */
export interface Replay extends Omit<Answer<"Replay">, "outcome" | "failures"> {
  outcome: "equal" | "differs" | "taken_over" | "not_derived";
  failures: { name: string; failure: Failure }[];
}

/** An instruction with the `ETag` of its script, which a change names. */
export interface TaggedInstruction extends Instruction {
  tag: string | null;
}

/** What the event stream tells of the time since the last tick. In the description, the data of an event is a plain string. */
export interface Tick {
  at: string;
  sequence: Decimal;
  counts: Record<FinalVerdict, number>;
  p50_us: number | null;
  p99_us: number | null;
  in_flight: number;
}

/** Verdicts of the event stream, and the number of those that it left out. */
export interface VerdictBatch {
  verdicts: VerdictRow[];
  n_more: number;
}
