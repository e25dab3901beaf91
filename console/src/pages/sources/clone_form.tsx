import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { gitClone } from "../../api/git";
import { tellChanged } from "../../live/events";
import { ErrorDetails } from "../../states/views";
import { Text } from "../../words/text";

/** Names the repository that the service follows from then on. */
export function CloneForm({ reload }: { reload: () => Promise<void> }): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const field = (name: string) => String(form.get(name) ?? "");
    setBusy(true);
    setError(null);
    try {
      await gitClone(field("url"), field("branch"), field("token"));
      tellChanged();
      await reload();
    } catch (problem) {
      setError(ApiError.of(problem));
    }
    setBusy(false);
  };
  return (
    <>
      <p>No repository is followed. The service puts the rules of a branch in force and follows it from then on.</p>
      <form class="stacked" onSubmit={event => void send(event as SubmitEvent)}>
        <label>
          Address
          <input name="url" type="text" required placeholder="https://git.example/team/rules.git" autocomplete="off" />
        </label>
        <label>
          Branch
          <input name="branch" type="text" placeholder="the default branch" autocomplete="off" />
        </label>
        <label>
          Access token, kept in memory only
          <input name="token" type="password" placeholder="for a private repository" autocomplete="off" />
        </label>
        <button type="submit" disabled={isBusy}>
          {isBusy ? "Cloning…" : "Clone"}
        </button>
      </form>
      {error !== null && (
        <div class="notice error" role="alert">
          <Text value={error.message} />
          <ErrorDetails error={error} />
        </div>
      )}
    </>
  );
}
