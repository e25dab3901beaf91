import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { alertDeadLetters, ledgerDeadLetters, replayDeadLetter } from "../../api/system";
import { say } from "../../app/announce";
import { link } from "../../app/router";
import { useResource } from "../../states/resource";
import { Loaded } from "../../states/views";
import { count, plural } from "../../words/number";
import { Text } from "../../words/text";
import { shortTime } from "../../words/time";

type Kind = "alerts" | "ledger";

interface Letter {
  id: string;
  transaction_id: string;
  at: string;
  reason: string;
  /** Rows of a ledger are read again by themselves; only events and alerts can be sent again. */
  canReplay: boolean;
}

interface Letters {
  count: number;
  letters: Letter[];
}

async function load(kind: Kind, signal: AbortSignal): Promise<Letters> {
  if (kind === "alerts") {
    const answer = await alertDeadLetters(signal);
    const letters = answer.dead_letters.map(letter => ({ ...letter, at: letter.dead_since, reason: letter.error, canReplay: true }));
    return { count: answer.count, letters };
  }
  const answer = await ledgerDeadLetters(signal);
  const letters = answer.dead_letters.map(letter => ({
    ...letter,
    at: letter.found_at,
    reason: letter.detail === "" ? letter.reason : `${letter.reason}: ${letter.detail}`,
    canReplay: letter.is_event,
  }));
  return { count: answer.count, letters };
}

const TITLES: Record<Kind, string> = { alerts: "Dead letters of alerts", ledger: "Dead letters of the ledger" };
/** Which ones the service lists if there are too many. */
const SHOWN_FIRST: Record<Kind, string> = { alerts: "oldest", ledger: "latest" };
const EMPTY: Record<Kind, string> = {
  alerts: "None. Every alert was delivered, or no webhook is configured.",
  ledger: "None. Every row and event of the ledger was accepted.",
};

export function DeadLetters({ kind }: { kind: Kind }): JSX.Element {
  const letters = useResource(`dead letters ${kind}`, signal => load(kind, signal), { everyMs: 15_000 });
  return (
    <section class="panel">
      <h2>{TITLES[kind]}</h2>
      <Loaded resource={letters} what="dead letters">
        {data =>
          data.letters.length === 0 ? (
            <p class="quiet">{EMPTY[kind]}</p>
          ) : (
            <>
              <p>
                {plural(data.count, "dead letter")}
                {data.count > data.letters.length && `, the ${SHOWN_FIRST[kind]} ${count(data.letters.length)} of them here`}
              </p>
              <LetterTable kind={kind} letters={data.letters} reload={letters.reload} />
            </>
          )
        }
      </Loaded>
    </section>
  );
}

interface LetterTableProps {
  kind: Kind;
  letters: Letter[];
  reload: () => Promise<void>;
}

function LetterTable({ kind, letters, reload }: LetterTableProps): JSX.Element {
  return (
    <div class="table-scroll short">
      <table aria-label={TITLES[kind]}>
        <thead>
          <tr>
            <th scope="col" class="w-verdict">
              Since
            </th>
            <th scope="col">Transaction</th>
            <th scope="col">Reason</th>
            <th scope="col" class="w-verdict">
              Action
            </th>
          </tr>
        </thead>
        <tbody>
          {letters.map(letter => (
            <tr key={letter.id}>
              <td>{shortTime(letter.at)}</td>
              <td class="mono">
                <a href={link("transactions", letter.transaction_id)}>
                  <Text value={letter.transaction_id} />
                </a>
              </td>
              <td>
                <Text value={letter.reason} />
              </td>
              <td>
                {letter.canReplay ? (
                  <ReplayLetter kind={kind} letter={letter} reload={reload} />
                ) : (
                  <span class="quiet">read again by itself</span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ReplayLetter({ kind, letter, reload }: { kind: Kind; letter: Letter; reload: () => Promise<void> }): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const replay = async () => {
    setBusy(true);
    try {
      await replayDeadLetter(kind, letter.id);
      say("Sent again");
    } catch (error) {
      say(ApiError.of(error).message);
    }
    setBusy(false);
    await reload();
  };
  return (
    <button type="button" class="small" disabled={isBusy} onClick={() => void replay()}>
      Replay<span class="hidden-text"> {letter.transaction_id}</span>
    </button>
  );
}
