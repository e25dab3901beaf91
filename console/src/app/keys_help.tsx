import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { isUtc, setUtc } from "../words/time";
import { boundKeys, letterKeys, setLetterKeys } from "./keys";

const isOpen = signal(false);

export function openKeysHelp(): void {
  isOpen.value = true;
}

/** The keys of this page, and the settings that this browser keeps. */
export function KeysHelp(): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (isOpen.value) dialog.current?.showModal();
  }, [isOpen.value]);
  if (!isOpen.value) return null;
  const close = () => {
    isOpen.value = false;
  };
  return (
    <dialog class="keys-help" ref={dialog} onClose={close} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <div class="key-groups">
        {[...boundKeys()]
          .filter(({ bindings }) => bindings.length > 0)
          .reverse()
          .map(({ name, bindings }) => (
            <section key={name}>
              <h3>{name}</h3>
              <dl>
                {bindings.map(({ keys, title }) => (
                  <div key={keys}>
                    <dt>
                      <kbd>{keys}</kbd>
                    </dt>
                    <dd>{title}</dd>
                  </div>
                ))}
              </dl>
            </section>
          ))}
      </div>
      <h3>Settings of this browser</h3>
      <Check label="Single letters are commands" value={letterKeys.value} set={setLetterKeys} />
      <Check label="Times in UTC" value={isUtc.value} set={setUtc} />
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

function Check({ label, value, set }: { label: string; value: boolean; set: (value: boolean) => void }): JSX.Element {
  return (
    <label class="check">
      <input type="checkbox" checked={value} onChange={event => set(event.currentTarget.checked)} /> {label}
    </label>
  );
}
