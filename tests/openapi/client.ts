// A client in TypeScript by the generated types: it compiles only if they describe the interface.
import type { components, paths } from "./api";

type Inject = paths["/inject"]["post"];

export async function inject(
  base: string,
  transaction: Inject["requestBody"]["content"]["application/json"],
): Promise<Inject["responses"]["200"]["content"]["application/json"]> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${base}/inject`, { method: "POST", headers, body: JSON.stringify(transaction) });
  if (!answer.ok) {
    const error = (await answer.json()) as components["schemas"]["Error"];
    throw new Error(`${error.code}: ${error.error}`);
  }
  return answer.json();
}

const { verdict, triggered } = await inject("http://127.0.0.1", { amount: 1.5, currency: "EUR", reference: "r" });
const words: ("approve" | "alert" | "review" | "block")[] = [verdict];
console.log(words, triggered.map((rule) => rule.name));
