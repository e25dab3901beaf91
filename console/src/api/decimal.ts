/** A decimal number as the service wrote it. Its digits never pass through a JavaScript number. */
export class Decimal {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

interface Parts {
  negative: boolean;
  /** Significant digits, without leading and trailing zeros. */
  digits: string;
  /** Number of digits before the point if the number were written `0.digits × 10^magnitude`. */
  magnitude: number;
}

const FORM = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

function parts(text: string): Parts {
  const match = FORM.exec(text);
  if (match === null) return { negative: false, digits: "", magnitude: 0 };
  const [, sign, whole = "", fraction = "", exponent = "0"] = match;
  const all = whole + fraction;
  const stripped = all.replace(/^0+/, "");
  const magnitude = whole.length - (all.length - stripped.length) + parseInt(exponent, 10);
  const digits = stripped.replace(/0+$/, "");
  return { negative: sign === "-" && digits !== "", digits, magnitude };
}

/** Compares by value: `1.50` equals `1.5`. Returns a negative number, 0 or a positive number. */
export function compareDecimals(left: Decimal, right: Decimal): number {
  const a = parts(left.text);
  const b = parts(right.text);
  if (a.negative !== b.negative) return a.negative ? -1 : 1;
  return a.negative ? -compareMagnitudes(a, b) : compareMagnitudes(a, b);
}

function compareMagnitudes(a: Parts, b: Parts): number {
  if (a.digits === "" || b.digits === "") return a.digits.length - b.digits.length;
  if (a.magnitude !== b.magnitude) return a.magnitude - b.magnitude;
  return a.digits < b.digits ? -1 : a.digits > b.digits ? 1 : 0;
}

/** Writes the digits with a comma between thousands. A number with an exponent stays as it is. */
export function groupThousands(text: string): string {
  const match = /^(-?)(\d+)(\.\d+)?$/.exec(text);
  if (match === null) return text;
  const [, sign = "", whole = "", fraction = ""] = match;
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, ",") + fraction;
}
