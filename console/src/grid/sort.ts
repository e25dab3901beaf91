import { compareDecimals, Decimal } from "../api/decimal";
import { lazy } from "../words/lazy";

export type SortKey = string | number | Decimal | null;

export interface Sort {
  column: string;
  isDescending: boolean;
}

const words = lazy(() => new Intl.Collator("en", { numeric: true }));

/** Returns the rows in order. Rows without a key come last in both directions; equal rows keep their order. */
export function sortRows<Row>(rows: readonly Row[], keyOf: (row: Row) => SortKey, isDescending: boolean): Row[] {
  const keyed = rows.map(row => ({ row, key: keyOf(row) }));
  const sign = isDescending ? -1 : 1;
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null);
    return sign * compareKeys(a.key, b.key);
  });
  return keyed.map(({ row }) => row);
}

function compareKeys(a: Exclude<SortKey, null>, b: Exclude<SortKey, null>): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (a instanceof Decimal && b instanceof Decimal) return compareDecimals(a, b);
  return words().compare(String(a), String(b));
}

/** Reads `hits` or `-hits` from an address; `-` stands for descending. */
export function parseSort(text: string | null, fallback: string): Sort {
  const value = text ?? fallback;
  return { column: value.replace(/^-/, ""), isDescending: value.startsWith("-") };
}

export function formatSort({ column, isDescending }: Sort): string {
  return (isDescending ? "-" : "") + column;
}
