import type { JSX } from "preact";
import type { FailedFile, GitStatus } from "../../api/types";
import { Text } from "../../words/text";
import { ago, fullTime } from "../../words/time";

export function GitState({ status }: { status: GitStatus }): JSX.Element {
  return (
    <>
      <p class="summary-line">
        <span class="mono">
          <Text value={status.branch} none="no branch yet" /> @ {status.current_commit?.slice(0, 12) ?? "no commit yet"}
        </span>
        <span class={`state ${position(status).kind}`}>{position(status).text}</span>
        {status.last_sync !== null && <span class="quiet">polled {ago(status.last_sync)}</span>}
      </p>
      <dl class="fields">
        <div>
          <dt>Repository</dt>
          <dd class="mono">
            <Text value={status.url} />
          </dd>
        </div>
        <div>
          <dt>At the remote</dt>
          <dd class="mono">{status.remote_commit ?? "–"}</dd>
        </div>
        <div>
          <dt>Work tree</dt>
          <dd class="mono">
            <Text value={status.local_path} />
          </dd>
        </div>
      </dl>
      {status.last_error !== null && (
        <p class="notice error" role="alert">
          {fullTime(status.last_error.at)}: <Text value={status.last_error.message} /> <code>{status.last_error.code}</code>. The last good
          rules stay in force.
        </p>
      )}
      {status.history_rewritten && (
        <p class="notice warn">The branch was rewritten: it does not contain the commit in force. A forced sync takes it.</p>
      )}
    </>
  );
}

function position({ up_to_date, ahead, behind }: GitStatus): { kind: string; text: string } {
  if (up_to_date) return { kind: "good", text: "✓ up to date" };
  const parts = [ahead > 0 ? `${ahead} ahead` : "", behind > 0 ? `${behind} behind` : ""].filter(part => part !== "");
  return { kind: "warn", text: `! ${parts.join(", ") || "not up to date"}` };
}

/** Files that failed, and files of the work tree that differ from the commit. */
export function GitFiles({ status }: { status: GitStatus }): JSX.Element {
  return (
    <>
      {status.failed.length > 0 && <Failed files={status.failed} />}
      <Paths title="Changed here, not pushed" paths={[...status.modified, ...status.untracked]} />
      <Paths title="Removed here, not pushed" paths={status.deleted} />
      <Paths title="In the way of the remote" paths={status.in_the_way} />
      {status.not_written.length > 0 && (
        <>
          <h3>Not written to the work tree</h3>
          <ul>
            {status.not_written.map(({ kind, name, message }) => (
              <li key={`${kind} ${name}`}>
                {kind} <Text value={name} />: <Text value={message} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Failed({ files }: { files: FailedFile[] }): JSX.Element {
  return (
    <>
      <h3>Refused files</h3>
      <ul class="outcomes">
        {files.map(({ path, line, column, message }) => (
          <li key={path}>
            <span class="state bad">
              <span aria-hidden="true">✗</span> refused
            </span>
            <span class="mono">
              <Text value={path} />
              {line !== null && `:${line}:${column ?? 1}`}
            </span>
            <p class="reason">
              <Text value={message} />
            </p>
          </li>
        ))}
      </ul>
    </>
  );
}

function Paths({ title, paths }: { title: string; paths: string[] }): JSX.Element | null {
  if (paths.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="mono">
        {paths.map(path => (
          <li key={path}>
            <Text value={path} />
          </li>
        ))}
      </ul>
    </>
  );
}
