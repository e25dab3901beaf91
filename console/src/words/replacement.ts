import type { Diagnostic } from "../api/types";

/** Returns the text that belongs at the marked place of a diagnostic, if there is exactly one. */
export function replacementOf(diagnostic: Diagnostic): string | null {
  // Help texts of these forms name the replacement and nothing else.
  const help = diagnostic.help ?? "";
  const write = /^write (?:a plain )?`([^`]+)`$/.exec(help);
  const meant = /^did you mean `([^`]+)`\?/.exec(help);
  return write?.[1] ?? meant?.[1] ?? null;
}
