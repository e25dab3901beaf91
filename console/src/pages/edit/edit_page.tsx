import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getRule } from "../../api/rules";
import { loadEditor } from "../../editor/load";
import { useResource } from "../../states/resource";
import { Loaded } from "../../states/views";
import { Workbench } from "./workbench";

/** A new rule begins with the form of a rule. */
const NEW_SCRIPT = `rule NewRule {
  description "What it looks for"
  when amount > 10000 and currency == "EUR"
  then review score 0.5 reason "What the analyst reads"
}
`;

const nothing = async () => {};

/** The editor of one rule; without an id, of a new one. */
export function EditPage({ id }: { id: string }): JSX.Element {
  // It comes while the rule is asked for.
  useEffect(() => void loadEditor(), []);
  return id === "" ? <Workbench rule={null} inForce="" start={NEW_SCRIPT} reload={nothing} /> : <EditExisting id={id} />;
}

function EditExisting({ id }: { id: string }): JSX.Element {
  // An edit begins with the script that is in force now, not with one that was seen earlier.
  const [openedAt] = useState(Date.now);
  const rule = useResource(`edit ${id} ${openedAt}`, signal => getRule(id, signal), { onRules: true });
  const loaded = rule.data.value;
  if (loaded === null) {
    return (
      <div class="page">
        <h1 tabIndex={-1}>Edit rule</h1>
        <Loaded resource={rule} what="the rule">
          {() => null}
        </Loaded>
      </div>
    );
  }
  if (loaded.script === null) {
    return (
      <div class="page">
        <h1 tabIndex={-1}>Edit rule</h1>
        <p class="notice">This rule came as a WebAssembly module and has no script.</p>
      </div>
    );
  }
  return <Workbench rule={loaded} inForce={loaded.script} start={loaded.script} reload={rule.reload} />;
}
