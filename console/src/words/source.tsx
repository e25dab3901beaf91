import type { JSX } from "preact";
import type { RuleSource } from "../api/types";
import { Text } from "./text";

const KINDS: Record<RuleSource["kind"], string> = { api: "API", upload: "Upload", file: "File", git: "Git" };

export function sourceKind(source: RuleSource): string {
  return KINDS[source.kind] ?? source.kind;
}

/** Where a rule or a list comes from. */
export function SourceName({ source }: { source: RuleSource }): JSX.Element {
  return (
    <span>
      {sourceKind(source)}
      {source.path !== undefined && (
        <>
          {" "}
          <span class="mono quiet">
            <Text value={source.path} />
          </span>
        </>
      )}
      {source.commit !== undefined && (
        <>
          {" "}
          <span class="mono quiet">{source.commit.slice(0, 8)}</span>
        </>
      )}
    </span>
  );
}
