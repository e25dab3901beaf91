export interface Word {
  name: string;
  /** A short note beside the word. */
  note: string;
  /** What is inserted, if it is not the name; `#{}` marks the places to fill in. */
  template?: string;
}

export const FIELDS: Word[] = [
  { name: "amount", note: "number" },
  ...["transaction_id", "currency", "source", "destination", "reference", "description", "status", "stage", "hash"].map(name => ({
    name,
    note: "text",
  })),
  ...["allow_overdraft", "inflight", "skip_queue", "atomic"].map(name => ({ name, note: "boolean" })),
  ...["timestamp", "effective_date", "scheduled_for", "inflight_expiry_date"].map(name => ({
    name,
    note: "date-time",
  })),
  { name: "metadata", note: "what the caller attached", template: "metadata.#{}" },
];

const AGGREGATES: Word[] = ["sum", "avg", "min", "max", "stddev"].map(name => ({
  name,
  note: "aggregate of past transactions",
  template: `${name}(\${amount} when source == $current.source, "\${P1D}")`,
}));

const TIMES: Word[] = ["hour_of_day", "day_of_week", "day_of_month", "day_of_year", "month_of_year", "week_of_year", "year"].map(name => ({
  name,
  note: "part of a time",
  template: `${name}(\${timestamp})`,
}));

export const FUNCTIONS: Word[] = [
  {
    name: "count",
    note: "number of past transactions",
    template: 'count(when source == $current.source, "${PT1H}")',
  },
  {
    name: "distinct",
    note: "number of different values",
    template: 'distinct(${destination} when source == $current.source, "${P1D}")',
  },
  ...AGGREGATES,
  {
    name: "previous_transaction",
    note: "whether one equals all pairs",
    template: 'previous_transaction(within: "${PT1H}", match: { source: $current.source${} })',
  },
  ...TIMES,
];

export const OPERATORS: Word[] = ["and", "or", "not", "in", "not_in", "regex", "not_regex", "between", "true", "false"].map(name => ({
  name,
  note: "",
}));

export const CLAUSES: Word[] = [
  { name: "rule", note: "a script is one rule", template: 'rule ${Name} {\n  when ${}\n  then review score 0.5 reason "${}"\n}' },
  { name: "description", note: "clause", template: 'description "${}"' },
  { name: "when", note: "the condition" },
  { name: "then", note: "verdict, score and reason" },
];

export const VERDICT_WORDS: Word[] = [
  { name: "approve", note: "let through" },
  { name: "allow", note: "the same as approve" },
  { name: "alert", note: "let through and notify" },
  { name: "review", note: "hold for a person" },
  { name: "block", note: "refuse" },
  { name: "deny", note: "the same as block" },
];

export const OUTCOME_WORDS: Word[] = [
  { name: "score", note: "0 to 1", template: "score ${0.5}" },
  { name: "reason", note: "what an analyst reads", template: 'reason "${}"' },
];
