import type { ComponentType } from "preact";
import { EditPage } from "../pages/edit/edit_page";
import { ListsPage } from "../pages/lists/lists_page";
import { OverviewPage } from "../pages/overview/overview_page";
import { RulePage } from "../pages/rule/rule_page";
import { RulesPage } from "../pages/rules/rules_page";
import { SourcesPage } from "../pages/sources/sources_page";
import { SystemPage } from "../pages/system/system_page";
import { TransactionPage } from "../pages/transaction/transaction_page";
import { link } from "./router";

export interface NavigationEntry {
  title: string;
  href: string;
  /** The second key after `g`. */
  key: string;
  /** The first segment of the address. */
  segment: string;
}

export const NAVIGATION: NavigationEntry[] = [
  { title: "Overview", href: link(), key: "h", segment: "" },
  { title: "Rules", href: link("rules"), key: "u", segment: "rules" },
  { title: "Lists", href: link("lists"), key: "l", segment: "lists" },
  { title: "Git and sources", href: link("sources"), key: "s", segment: "sources" },
  { title: "System", href: link("system"), key: "o", segment: "system" },
];

export interface PageMatch {
  title: string;
  Page: ComponentType<{ id: string }>;
  id: string;
}

/** Returns the page of an address; `null` if there is none. */
export function matchPage(segments: string[]): PageMatch | null {
  const [first = "", id = "", action] = segments;
  if (segments.length === 0) return { title: "Overview", Page: OverviewPage, id: "" };
  if (first === "rules" && id === "") return { title: "Rules", Page: RulesPage, id: "" };
  if (first === "rules" && id === "new") return { title: "New rule", Page: EditPage, id: "" };
  if (first === "rules" && action === "edit") return { title: "Edit rule", Page: EditPage, id };
  if (first === "rules" && action === undefined) return { title: "Rule", Page: RulePage, id };
  if (first === "transactions" && id !== "") return { title: "Transaction", Page: TransactionPage, id };
  if (first === "lists") return { title: "Lists", Page: ListsPage, id };
  if (first === "sources") return { title: "Git and sources", Page: SourcesPage, id: "" };
  if (first === "system") return { title: "System", Page: SystemPage, id: "" };
  return null;
}
