import type { ComponentChildren, JSX } from "preact";

/** Characters that reorder or hide the text around them, and control characters. They are shown by their number. */
const UNCLEAR = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

interface TextProps {
  value: string | null | undefined;
  /** Shown when there is no value. */
  none?: string;
}

/** A text of a caller: isolated from the direction of what surrounds it, with unclear characters made visible. */
export function Text({ value, none = "–" }: TextProps): JSX.Element {
  if (value === null || value === undefined || value === "") return <span class="quiet">{none}</span>;
  return <bdi class="foreign">{withMarks(value)}</bdi>;
}

function withMarks(value: string): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const match of value.matchAll(UNCLEAR)) {
    parts.push(value.slice(end, match.index));
    parts.push(<span class="mark">{codePoint(match[0])}</span>);
    end = match.index + match[0].length;
  }
  if (end === 0) return value;
  parts.push(value.slice(end));
  return parts;
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
