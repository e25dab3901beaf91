import type { JSX } from "preact";
import { deleteRule, getRule } from "../../api/rules";
import { go, link, route } from "../../app/router";
import { actLater, isPending } from "../../app/undo";

interface DeletableRule {
  id: string;
  name: string;
}

/** Sends the deletion after five seconds. Until then nothing has happened, so an undo keeps the rule and its id. */
export function deleteLater({ id, name }: DeletableRule): void {
  // The rule as it is at the click: one that changes until the deletion stays.
  const atClick = getRule(id);
  atClick.catch(() => {});
  actLater(`delete rule ${id}`, `Delete ${name}`, async () => {
    await deleteRule(id, (await atClick).tag);
    // Its page would show a rule that is gone.
    if (route.value.segments.join("/") === `rules/${id}`) go(link("rules"));
  });
}

export function DeleteRule({ rule, isSmall }: { rule: DeletableRule; isSmall?: boolean }): JSX.Element {
  return (
    <button
      type="button"
      class={isSmall ? "small" : undefined}
      disabled={isPending(`delete rule ${rule.id}`)}
      onClick={() => deleteLater(rule)}
    >
      Delete<span class="hidden-text"> {rule.name}</span>
    </button>
  );
}
