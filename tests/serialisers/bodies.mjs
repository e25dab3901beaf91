// Bodies of POST /inject as JSON.stringify writes them; the lines are those of bodies.py.

let n = 0;

function emit(expected, field, body) {
  process.stdout.write(`${expected}\t${field}\t${Buffer.from(body).toString("hex")}\n`);
}

function transaction(fields = {}) {
  n += 1;
  return { transaction_id: `node-${n}`, amount: 12.5, currency: "EUR", reference: `r-${n}`, ...fields };
}

const taken = (fields) => emit("taken", "-", JSON.stringify(transaction(fields)));
const refused = (field, fields) => emit("refused", field, JSON.stringify(transaction(fields)));
const nested = (depth) => (depth === 0 ? 1 : { a: nested(depth - 1) });

const noon = new Date(Date.UTC(2026, 0, 31, 12));
for (const field of ["created_at", "effective_date", "scheduled_for", "inflight_expiry_date"]) {
  taken({ [field]: noon });
  taken({ [field]: undefined });
  taken({ [field]: new Date(NaN) });
  taken({ [field]: "0001-01-01T00:00:00Z" });
  taken({ [field]: "0001-01-01T00:00:00.0000000" });
  taken({ [field]: "0001-01-01T00:00:00+02:00" });
  refused(field, { [field]: noon.getTime() });
  refused(field, { [field]: noon.toString() });
  refused(field, { [field]: noon.toLocaleDateString("de-DE") });
  refused(field, { [field]: noon.toLocaleString("en-US") });
  refused(field, { [field]: "2026-01-31" });
  refused(field, { [field]: "Invalid Date" });
}
for (const field of ["transaction_id", "source", "destination", "status", "hash"]) {
  taken({ [field]: "" });
  taken({ [field]: null });
  taken({ [field]: undefined });
  refused(field, { [field]: 7 });
  refused(field, { [field]: {} });
  refused(field, { [field]: "a\ud83d" });
  refused(field, { [field]: "a\u0007" });
}
for (const field of ["transaction_id", "source", "destination"]) {
  for (const text of [" acc-1", "acc-1\u00a0", "acc-1\ufeff", "ac\u00adc-1", "acc-1\u200d"]) refused(field, { [field]: text });
  for (const text of ["👩‍💻", "می‌خواهم", "❤️ acc"]) taken({ [field]: `${text} ${field}` });
}
for (const field of ["amount", "currency", "reference"]) {
  refused(field, { [field]: undefined });
  refused(field, { [field]: null });
  refused(field, { [field]: {} });
}
for (const field of ["allow_overdraft", "inflight", "skip_queue", "atomic"]) {
  taken({ [field]: undefined });
  taken({ [field]: false });
  refused(field, { [field]: "false" });
  refused(field, { [field]: 0 });
}
for (const amount of [0, -0, 1e-7, 0.1 + 0.2, 1e21, 2 ** 53, 123456789012345680000, 5e-9, -25.5, "12.50", String(2n ** 70n)]) taken({ amount });
for (const amount of [NaN, Infinity, -Infinity, 1e300, Number.MAX_VALUE, Number.MIN_VALUE, String(1e21), "12,50 €", [12.5], String(2n ** 130n)])
  refused("amount", { amount });
taken({ meta_data: { card: 2 ** 63, empty: "", none: null, missing: undefined, list: [undefined, NaN], deep: nested(20) } });
taken({ meta_data: Object.fromEntries(Array.from({ length: 431 }, (_, column) => [`column${column}`, column])) });
taken({ meta_data: { "device-id": 1, ".3ds": 2, "a.b": 3, "__proto__": 4, "ключ": "a\ude00" } });
taken({ meta_data: new Map([["a", 1]]) });
refused("meta_data", { meta_data: Object.fromEntries(Array.from({ length: 1100 }, (_, column) => [`column${column}`, column])) });
refused("meta_data", { meta_data: nested(40) });
refused("meta_data", { meta_data: [] });
refused("meta_data", { meta_data: JSON.stringify({ a: 1 }) });
refused("meta_data", { meta_data: new Date(0) });
taken({ description: "line\r\nline \u2028 \u202e", reference: "\u202bשלום\u200f\n" });
taken({ description: "cut \ud83d", reference: "cut \ude00" });
taken({ description: "", channel: "web", nothing: null, items: [{ sku: 1 }] });
for (const spelled of ["transactionId", "TransactionId", "createdAt", "effectiveDate", "scheduledFor", "inflightExpiryDate", "metaData", "metadata", "allowOverdraft", "skipQueue", "Destination", "meta-data"])
  refused(spelled, { [spelled]: "x" });
const { amount, currency, reference } = transaction();
refusedWhole("amount", { TransactionId: "x", Amount: amount, Currency: currency, Reference: reference });
emit("refused", "-", `\ufeff${JSON.stringify(transaction())}`);
emit("refused", "-", Buffer.from(JSON.stringify(transaction()), "utf16le"));
emit("refused", "-", JSON.stringify(JSON.stringify(transaction())));
emit("refused", "-", JSON.stringify([transaction()]));
emit("refused", "-", String(transaction()));
emit("refused", "-", String(undefined));
emit("taken", "-", JSON.stringify(transaction(), null, "\t").replaceAll("\n", "\r\n"));

function refusedWhole(field, body) {
  emit("refused", field, JSON.stringify(body));
}
