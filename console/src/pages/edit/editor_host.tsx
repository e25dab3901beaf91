import type { JSX, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { listLists } from "../../api/lists";
import type { Editor } from "../../editor/editor";
import { loadEditor } from "../../editor/load";

interface HostProps {
  editor: { current: Editor | null };
  text: string;
  isReadOnly: boolean;
  onChange: (text: string) => void;
  onReady: () => void;
}

/** Loads the editor and gives it a place. Until it is there, the text is shown as it is. */
export function EditorHost(props: HostProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const [isReady, setReady] = useState(false);
  const latest = useRef(props);
  latest.current = props;
  const lists = useListNames();
  useEffect(() => {
    let isGone = false;
    void loadEditor().then(({ createEditor }) => {
      if (isGone || host.current === null) return;
      props.editor.current = createEditor(host.current, {
        text: latest.current.text,
        isReadOnly: props.isReadOnly,
        known: () => ({ lists: lists.current ?? [], fields: [] }),
        onChange: text => latest.current.onChange(text),
      });
      setReady(true);
      performance.mark("editor-ready");
      props.editor.current.focus();
      latest.current.onReady();
    });
    return () => {
      isGone = true;
      props.editor.current?.destroy();
      props.editor.current = null;
    };
  }, []);
  return (
    <div class="editor">
      {!isReady && <pre class="script">{props.text}</pre>}
      <div class="editor-host" ref={host} />
    </div>
  );
}

function useListNames(): RefObject<string[]> {
  const names = useRef<string[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    listLists(abort.signal).then(
      lists => {
        names.current = lists.map(({ name }) => name);
      },
      // Without the lists only their names are missing from the completion.
      () => undefined,
    );
    return () => abort.abort();
  }, []);
  return names;
}
