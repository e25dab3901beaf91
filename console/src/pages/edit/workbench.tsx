import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Diagnostic, TaggedInstruction } from "../../api/types";
import { useKeys } from "../../app/keys";
import { go, guardLeaving, link } from "../../app/router";
import type { Editor } from "../../editor/editor";
import { sourcePath } from "../../words/source";
import { Text } from "../../words/text";
import { ago } from "../../words/time";
import { useChecking } from "./checking";
import { DiffPanel } from "./diff_panel";
import { type Draft, readDraft, removeDraft, writeDraft } from "./drafts";
import { EditorHost } from "./editor_host";
import { FindingsPanel } from "./findings";
import { ConfirmBroad, CostPanel, SaveRefused } from "./panels";
import { useSaving } from "./saving";

interface WorkbenchProps {
  rule: TaggedInstruction | null;
  /** The script in force; empty for a new rule. */
  inForce: string;
  start: string;
  /** Loads the rule in force again. */
  reload: () => Promise<void>;
}

const NOTHING: Diagnostic[] = [];

export function Workbench({ rule, inForce, start, reload }: WorkbenchProps): JSX.Element {
  const draftKey = rule?.id ?? "new";
  const [draft, setDraft] = useState<Draft | null>(() => readDraft(draftKey));
  const [script, setScript] = useState(draft?.script ?? start);
  // The rule that the text is an edit of; an edit begins with the one in force.
  const [base, setBase] = useState(draft?.tag ?? rule?.tag ?? null);
  const editor = useRef<Editor | null>(null);
  const canSave = rule === null || rule.source.kind === "api";
  const checking = useChecking(script, rule?.id ?? null);
  const saving = useSaving(rule?.id ?? null);
  const diagnostics = saving.error?.body.diagnostics ?? checking.result?.diagnostics ?? NOTHING;
  const showFindings = () => editor.current?.show(diagnostics);
  useEffect(showFindings, [diagnostics]);
  const isChanged = rule === null ? script !== start : script !== inForce;
  useUnsaved(draftKey, script, base, isChanged && canSave);
  const discard = () => {
    editor.current?.setText(start);
    removeDraft(draftKey);
    setDraft(null);
    setBase(rule?.tag ?? null);
  };
  const save = async (isConfirmed = false) => {
    if (!canSave || saving.isBusy) return;
    // The change of somebody else has been shown: this save replaces it.
    const tag = saving.error?.isStale ? (rule?.tag ?? null) : base;
    const saved = await saving.save(script, tag, isConfirmed);
    if (saved !== null) {
      setDraft(null);
      leave(link("rules", saved.id));
    }
  };
  const isStale = saving.error?.isStale ?? false;
  useEffect(() => void (isStale && reload()), [isStale]);
  useKeys("Editor", [
    { keys: "Ctrl+S", title: "Save", run: () => void save() },
    { keys: "Ctrl+.", title: "Apply the correction at the cursor", run: () => editor.current?.fix() },
    { keys: "i", title: "Into the editor", run: () => editor.current?.focus() },
  ]);
  const onChange = useCallback((text: string) => (setScript(text), saving.clear()), []);
  return (
    <div class="page fills editor-page">
      <div class="page-head">
        <h1 tabIndex={-1}>
          {rule === null ? "New rule" : canSave ? "Edit " : "Script of "}
          {rule !== null && (
            <span class="mono">
              <Text value={rule.name} />
            </span>
          )}
        </h1>
        {canSave && (
          <button type="button" class="primary" disabled={saving.isBusy} onClick={() => void save()}>
            {saving.isBusy ? "Saving…" : rule === null ? "Save and put in force" : "Replace the rule in force"}{" "}
            <kbd aria-hidden="true">Ctrl S</kbd>
          </button>
        )}
      </div>
      {rule !== null && !canSave && <ReadOnlyNote rule={rule} />}
      {rule !== null && (isStale || rule.tag !== base) && <ChangedNote isStale={isStale} />}
      {draft !== null && canSave && <DraftNote draft={draft} discard={discard} />}
      <div class="workbench">
        <EditorHost editor={editor} text={script} isReadOnly={!canSave} onChange={onChange} onReady={showFindings} />
        <aside class="findings" aria-label="Results of the check">
          {saving.error !== null && <SaveRefused error={saving.error} />}
          {saving.broad !== null && <ConfirmBroad broad={saving.broad} confirm={() => void save(true)} cancel={saving.clear} />}
          <FindingsPanel checking={checking} diagnostics={diagnostics} editor={editor} />
          <CostPanel checking={checking} canSave={canSave} />
        </aside>
      </div>
      {rule !== null && <DiffPanel before={inForce} after={script} />}
    </div>
  );
}

function ChangedNote({ isStale }: { isStale: boolean }): JSX.Element {
  return (
    <p class="notice warn" role="status">
      The rule in force has changed since this edit began. The comparison below is against the new one.{" "}
      {isStale ? "Another save replaces it." : "A save is refused once, so that nobody's change is lost unseen."}
    </p>
  );
}

function DraftNote({ draft, discard }: { draft: Draft; discard: () => void }): JSX.Element {
  return (
    <p class="notice warn">
      An unsaved text of {ago(draft.at)} is shown.{" "}
      <button type="button" class="small" onClick={discard}>
        Discard it
      </button>
    </p>
  );
}

function ReadOnlyNote({ rule }: { rule: TaggedInstruction }): JSX.Element {
  return (
    <p class="notice">
      This rule comes from <code>{sourcePath(rule.source) ?? rule.source.kind}</code>. Change it there; the service follows. To keep a
      variant in the service, copy the script into <a href={link("rules", "new")}>a new rule</a> under another name.
    </p>
  );
}

/** Set while the editor itself leaves, after a save. */
let isLeaving = false;

function leave(target: string): void {
  isLeaving = true;
  go(target);
}

/** Keeps unsaved text in the browser, so that leaving loses nothing. */
function useUnsaved(key: string, script: string, base: string | null, isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return;
    const timer = setTimeout(() => writeDraft(key, script, base), 250);
    return () => clearTimeout(timer);
  }, [key, script, base, isUnsaved]);
  useEffect(() => {
    isLeaving = false;
    return guardLeaving(() => {
      if (isUnsaved && !isLeaving) writeDraft(key, script, base);
      return true;
    });
  }, [key, script, base, isUnsaved]);
}
