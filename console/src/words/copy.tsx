import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { say } from "../app/announce";

/** A button that copies a text. */
export function CopyButton({ text, label }: { text: string; label: string }): JSX.Element {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      say("Copied");
      setTimeout(() => setCopied(false), 1_500);
    } catch {
      say("The browser does not allow copying here. Select the text instead.");
    }
  };
  return (
    <button type="button" class="small" onClick={() => void copy()} aria-label={label}>
      {isCopied ? "Copied" : "Copy"}
    </button>
  );
}

/** A command or a document, with a button that copies it. */
export function CodeBlock({ text, label }: { text: string; label: string }): JSX.Element {
  return (
    <div class="code-block">
      <pre tabIndex={0} aria-label={label}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={`Copy: ${label}`} />
    </div>
  );
}
