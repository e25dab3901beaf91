import type { JSX } from "preact";
import type { ApiError } from "../../api/client";
import { Decimal } from "../../api/decimal";
import { indentJson } from "../../api/json";
import { getTransaction, type StoredTransaction } from "../../api/transactions";
import { link } from "../../app/router";
import { useResource } from "../../states/resource";
import { Loaded } from "../../states/views";
import { CodeBlock, CopyButton } from "../../words/copy";
import { LongText } from "../../words/long_text";
import { amount } from "../../words/number";
import { Text } from "../../words/text";
import { fullTime } from "../../words/time";
import { VerdictBadge } from "../../words/verdict";
import { Fields } from "./fields";
import { FailedRules, MatchedRules } from "./outcomes";
import { Proof } from "./proof";
import { StatusPanel } from "./status_panel";

export function TransactionPage({ id }: { id: string }): JSX.Element {
  const transaction = useResource(`transaction ${id}`, signal => getTransaction(id, signal));
  const error = transaction.error.value;
  return (
    <div class="page transaction">
      <h1 tabIndex={-1}>
        Transaction{" "}
        <span class="mono">
          <Text value={id} />
        </span>{" "}
        <CopyButton text={id} label="Copy the transaction id" />
      </h1>
      {isUnknown(error) ? (
        <UnknownTransaction />
      ) : (
        <Loaded resource={transaction} what="the transaction">
          {stored => <Stored id={id} stored={stored} />}
        </Loaded>
      )}
    </div>
  );
}

function isUnknown(error: ApiError | null): boolean {
  return error?.code === "transaction_not_found";
}

function UnknownTransaction(): JSX.Element {
  return (
    <div class="notice" role="alert">
      <p>
        <strong>No transaction with this id was judged.</strong> Only ids are searched: accounts, cards, references and other fields are
        not. Ids are compared byte by byte: check for blanks and for upper and lower case. Press <kbd>/</kbd> to look for another one.
      </p>
    </div>
  );
}

function Stored({ id, stored }: { id: string; stored: StoredTransaction }): JSX.Element {
  return (
    <>
      <Summary stored={stored} />
      <div class="columns">
        <div class="column">
          <section class="panel">
            <h2>Matched rules</h2>
            <MatchedRules evaluation={stored.evaluation} />
            <FailedRules evaluation={stored.evaluation} />
          </section>
          <Proof id={id} evaluation={stored.evaluation} />
          <StatusPanel id={id} />
        </div>
        <div class="column">
          <section class="panel">
            <h2>Fields</h2>
            <Fields fields={stored.fields} />
          </section>
          <details class="panel">
            <summary>Raw JSON</summary>
            <CodeBlock label="Transaction as JSON" text={indentJson(stored.text)} />
          </details>
        </div>
      </div>
    </>
  );
}

function Summary({ stored: { fields, evaluation } }: { stored: StoredTransaction }): JSX.Element {
  const value = fields["amount"];
  return (
    <div class="summary">
      <p class="summary-line">
        {evaluation.verdict ? (
          <VerdictBadge verdict={evaluation.verdict} score={evaluation.score ?? null} done />
        ) : (
          <span class="state">No verdict was asked for</span>
        )}
        <span class="figure mono">
          {value instanceof Decimal ? amount(value) : "–"} <Text value={textOf(fields["currency"])} />
        </span>
        <span class="mono">
          <Text value={textOf(fields["source"])} none="no source" /> → <Text value={textOf(fields["destination"])} none="no destination" />
        </span>
      </p>
      {evaluation.reason && (
        <p class="reason">
          <LongText value={evaluation.reason} />
        </p>
      )}
      <p class="quiet">
        {evaluation.evaluated_at && <>Judged at {fullTime(evaluation.evaluated_at)} </>}
        {evaluation.rule_set_version && <>by rule set {evaluation.rule_set_version.text}. </>}
        <Status status={textOf(fields["status"])} latest={fields["latest_description"]} /> <a href={link("rules")}>Rules in force</a>
      </p>
    </div>
  );
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function Status({ status, latest }: { status: string | null; latest: unknown }): JSX.Element {
  return (
    <>
      {status !== null && (
        <>
          Status now: <Text value={status} />.{" "}
        </>
      )}
      {typeof latest === "object" && latest !== null && <>The ledger has described it anew since: see the fields.</>}
    </>
  );
}
