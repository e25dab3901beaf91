import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { gitPull, gitPush, gitSync } from "../../api/git";
import type { GitPush, GitStatus, GitSync } from "../../api/types";
import { tellChanged } from "../../live/events";
import { ErrorDetails } from "../../states/views";
import { plural } from "../../words/number";
import { Text } from "../../words/text";

interface ActionProps {
  status: GitStatus;
  reload: () => Promise<void>;
}

export function GitActions({ status, reload }: ActionProps): JSX.Element {
  const [busy, setBusy] = useState("");
  const [done, setDone] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const [message, setMessage] = useState("");
  const run = async (name: string, act: () => Promise<string>) => {
    setBusy(name);
    setDone("");
    setError(null);
    try {
      setDone(await act());
      tellChanged();
    } catch (problem) {
      setError(ApiError.of(problem));
    }
    setBusy("");
    await reload();
  };
  const push = (event: Event) => {
    event.preventDefault();
    void run("push", async () => pushed(await gitPush(message)));
  };
  const n_changes = status.modified.length + status.untracked.length + status.deleted.length;
  return (
    <>
      <div class="inline">
        <button type="button" disabled={busy !== ""} onClick={() => void run("sync", async () => synced(await gitSync(false)))}>
          Sync
        </button>
        <button type="button" disabled={busy !== ""} onClick={() => void run("pull", async () => synced(await gitPull()))}>
          Pull into the work tree
        </button>
        <ForcedSync isBusy={busy !== ""} run={() => void run("force", async () => synced(await gitSync(true)))} />
      </div>
      <form class="inline" onSubmit={push}>
        <input
          type="text"
          required
          aria-label="Message of the commit"
          placeholder="Message of the commit"
          value={message}
          onInput={event => setMessage(event.currentTarget.value)}
        />
        <button type="submit" disabled={busy !== ""}>
          Push {plural(n_changes, "changed file")}
        </button>
      </form>
      <div role="status">
        {busy !== "" && <p class="quiet">The remote is asked. This takes up to a minute.</p>}
        {done !== "" && <p class="state good">✓ {done}</p>}
      </div>
      {error !== null && (
        <div class="notice error" role="alert">
          <Text value={error.message} />
          <ErrorDetails error={error} />
        </div>
      )}
    </>
  );
}

function synced({ after, loaded, changed, removed }: GitSync): string {
  return `${after.slice(0, 12)} is in force: ${plural(loaded.length, "file")} added, ${changed.length} changed, ${removed.length} removed.`;
}

function pushed({ files, commit }: GitPush): string {
  return `${plural(files.length, "file")} pushed as ${commit.slice(0, 12)}.`;
}

/** A forced sync may replace commits and rules, so it takes a second press. */
function ForcedSync({ isBusy, run }: { isBusy: boolean; run: () => void }): JSX.Element {
  const [isAsking, setAsking] = useState(false);
  if (!isAsking) {
    return (
      <button type="button" disabled={isBusy} onClick={() => setAsking(true)}>
        Forced sync…
      </button>
    );
  }
  return (
    <span class="inline" role="group" aria-label="Forced sync">
      <span>It takes the branch as it is and leaves local commits behind.</span>
      <button type="button" class="danger" onClick={() => (setAsking(false), run())}>
        Take the branch
      </button>
      <button type="button" onClick={() => setAsking(false)}>
        Keep
      </button>
    </span>
  );
}
