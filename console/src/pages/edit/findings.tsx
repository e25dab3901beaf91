import type { JSX } from "preact";
import type { Diagnostic } from "../../api/types";
import type { Editor } from "../../editor/editor";
import { ErrorView } from "../../states/views";
import { plural } from "../../words/number";
import { replacementOf } from "../../words/replacement";
import { Text } from "../../words/text";
import type { Checking } from "./checking";

interface FindingsProps {
  checking: Checking;
  diagnostics: Diagnostic[];
  editor: { current: Editor | null };
}

/** What the compiler says, as a list: for the keyboard and for screen readers. */
export function FindingsPanel({ checking, diagnostics, editor }: FindingsProps): JSX.Element {
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  return (
    <section class="panel">
      <h2>Compiler</h2>
      {checking.error !== null && <ErrorView error={checking.error} what="checks while typing" />}
      <p role="status" class={errors > 0 ? "state bad" : "state"}>
        {summary(checking, errors, diagnostics.length - errors)}
      </p>
      <ol class="diagnostics">
        {diagnostics.map(diagnostic => (
          <Finding key={`${diagnostic.line}:${diagnostic.column}:${diagnostic.code}`} diagnostic={diagnostic} editor={editor} />
        ))}
      </ol>
    </section>
  );
}

function summary({ result, error }: Checking, errors: number, warnings: number): string {
  if (errors > 0) return `✗ ${plural(errors, "error")}${warnings > 0 ? `, ${plural(warnings, "warning")}` : ""}`;
  if (warnings > 0) return `! ${plural(warnings, "warning")}`;
  if (result === null) return error === null ? "Checking…" : "Saving reports the errors.";
  return "✓ It compiles.";
}

function Finding({ diagnostic, editor }: { diagnostic: Diagnostic; editor: FindingsProps["editor"] }): JSX.Element {
  const { severity, code, line, column, message, help } = diagnostic;
  return (
    <li class={severity}>
      <button type="button" class="plain" onClick={() => editor.current?.goTo(diagnostic)}>
        <span class={severity === "error" ? "state bad" : "state warn"}>
          <span aria-hidden="true">{severity === "error" ? "✗" : "!"}</span> {code}
        </span>{" "}
        line {line}, column {column}
      </button>
      <p>
        <Text value={message} />
      </p>
      {help !== null && (
        <p class="quiet">
          <Text value={help} />
        </p>
      )}
      {replacementOf(diagnostic) !== null && (
        <button type="button" class="small" onClick={() => editor.current?.fix(diagnostic)}>
          Correct it <kbd aria-hidden="true">Ctrl .</kbd>
        </button>
      )}
    </li>
  );
}
