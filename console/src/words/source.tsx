import type { JSX } from "preact";
import type { InstructionSource } from "../api/types";
import { Text } from "./text";

export const SOURCE_KINDS: Record<InstructionSource["kind"], string> = { api: "API", upload: "Upload", file: "File", git: "Git" };

/** The file that a rule or a list comes from, if it comes from one. */
export function sourcePath(source: InstructionSource): string | null {
  return "path" in source ? source.path : null;
}

/** A text by which sources are sorted. */
export function sourceOrder(source: InstructionSource): string {
  return `${source.kind} ${sourcePath(source) ?? ""}`;
}

/** Where a rule or a list comes from. */
export function SourceName({ source }: { source: InstructionSource }): JSX.Element {
  return (
    <span>
      {SOURCE_KINDS[source.kind]}
      {"path" in source && (
        <>
          {" "}
          <span class="mono quiet">
            <Text value={source.path} />
          </span>
        </>
      )}
      {source.kind === "git" && (
        <>
          {" "}
          <span class="mono quiet">{source.commit.slice(0, 8)}</span>
        </>
      )}
    </span>
  );
}
