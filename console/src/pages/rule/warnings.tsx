import type { JSX } from "preact";
import type { Instruction } from "../../api/types";
import { SmallTable } from "../../grid/small_table";
import { count } from "../../words/number";
import { Text } from "../../words/text";

export function Warnings({ rule }: { rule: Instruction }): JSX.Element | null {
  if (rule.warnings.length === 0) return null;
  return (
    <section class="panel">
      <h2>Warnings of the compiler</h2>
      <ul class="outcomes">
        {rule.warnings.map(warning => (
          <li key={`${warning.code}-${warning.line}-${warning.column}`}>
            <span class="state warn">
              <span aria-hidden="true">!</span> {warning.code}
            </span>
            <span>
              Line {warning.line}, column {warning.column}: <Text value={warning.message} />
            </span>
            {warning.help !== null && (
              <p class="reason">
                <Text value={warning.help} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Tests that met values which they cannot compare: such a rule may never match. */
export function Incomparables({ rule }: { rule: Instruction }): JSX.Element | null {
  if (rule.incomparable.length === 0) return null;
  return (
    <section class="panel">
      <h2>Values that a test could not compare</h2>
      <SmallTable label="Values that a test could not compare" columns={["Line", "Test", "Got", "Wanted", { number: "Times" }]}>
        {rule.incomparable.map(each => (
          <tr key={`${each.line}-${each.column}-${each.got}`}>
            <td>{each.line}</td>
            <td class="mono">
              <Text value={each.test} />
            </td>
            <td>{each.got}</td>
            <td>{each.wanted}</td>
            <td class="number">{each.count >= 1000 ? "1,000 or more" : count(each.count)}</td>
          </tr>
        ))}
      </SmallTable>
    </section>
  );
}
