// Fills a service with rules, lists and transactions, hostile texts among them.

import { post } from "./service.mjs";

export const HOSTILE = {
  markup: `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`,
  rightToLeft: "\u202Eabc\u202C אבג",
  long: "x".repeat(4_000),
};

export const RULES = {
  large_payment:
    'rule large_payment {\n  description "Payments above 9,000"\n  when amount > 9000\n  then block score 0.9 reason "Large payment"\n}\n',
  second_payment:
    'rule second_payment {\n  // Three in an hour\n  when count(when source == $current.source, "PT1H") >= 3 and amount > 10\n  then review score 0.6 reason "Third payment within an hour"\n}\n',
  listed: 'rule listed {\n  when source in $mules\n  then alert score 0.3 reason "The source is on a list"\n}\n',
  never: "rule never_matches {\n  when amount < 0\n  then block score 1\n}\n",
  hostile: `rule hostile_texts {\n  description "${HOSTILE.markup.replaceAll('"', "'")}"\n  when reference == "hostile"\n  then review score 0.5 reason "${HOSTILE.markup.replaceAll('"', "'")} ${"y".repeat(700)}"\n}\n`,
};

export async function seed(url, n_transactions = 40) {
  await fetch(`${url}/lists/mules`, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(["acc-carla", "acc-dario", HOSTILE.markup]),
  });
  const ids = {};
  for (const [name, script] of Object.entries(RULES)) {
    ids[name] = (await post(`${url}/compile-and-save-instruction`, { script })).id;
  }
  for (let number = 1; number <= n_transactions; number += 1) await post(`${url}/inject`, transaction(number));
  await post(`${url}/inject`, hostileTransaction());
  await post(`${url}/inject`, EXACT);
  return ids;
}

const SOURCES = ["acc-anna", "acc-bert", "acc-carla", "acc-dora", "acc-emil"];

export function transaction(number) {
  return {
    transaction_id: `txn-${number}`,
    amount: number % 9 === 0 ? 12_000.5 : 20 + number,
    currency: "EUR",
    reference: `invoice-${number}`,
    source: SOURCES[number % SOURCES.length],
    destination: `acc-shop-${number % 3}`,
    meta_data: { device: { id: `d-${number}`, ip_country: "NG" }, tags: ["web", "new"] },
  };
}

/** An amount that no JavaScript number holds. */
export const EXACT = `{"transaction_id":"txn-exact","amount":1234567890123456789.10,"currency":"EUR","reference":"exact",
 "source":"acc-exact","destination":"acc-shop","meta_data":{"limit":98765432109876543210.5,"rate":1.50}}`;

function hostileTransaction() {
  return {
    transaction_id: `txn-<b>bold</b>&"'/%2F?#`,
    amount: 5,
    currency: "EUR",
    reference: "hostile",
    description: `${HOSTILE.rightToLeft} ${HOSTILE.long}`,
    source: `acc-${"z".repeat(240)}`,
    destination: "acc-אבג",
    meta_data: { [HOSTILE.markup]: HOSTILE.markup, [`key-${HOSTILE.long.slice(0, 500)}`]: HOSTILE.rightToLeft },
  };
}
