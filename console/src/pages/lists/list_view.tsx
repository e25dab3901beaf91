import { Fragment, type JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { deleteList, getList } from "../../api/lists";
import type { ListWithEntries } from "../../api/types";
import { link } from "../../app/router";
import { actLater, isPending } from "../../app/undo";
import { type Column, Table } from "../../grid/table";
import { useResource } from "../../states/resource";
import { Loaded } from "../../states/views";
import { count, plural } from "../../words/number";
import { SourceName } from "../../words/source";
import { Text } from "../../words/text";
import { EditEntries } from "./edit_entries";

export function ListView({ name }: { name: string }): JSX.Element {
  const list = useResource(`list ${name}`, signal => getList(name, signal), { onRules: true });
  const isNew = list.error.value?.code === "list_not_found";
  return (
    <div class="page fills">
      <h1 tabIndex={-1}>
        List{" "}
        <span class="mono">
          <Text value={`$${name}`} />
        </span>
      </h1>
      {isNew ? (
        <>
          <p>No list with this name is in force. The first entries make it.</p>
          <EditEntries name={name} entries={[]} sha256={null} reload={list.reload} />
        </>
      ) : (
        <Loaded resource={list} what="the list">
          {loaded => <Entries list={loaded} reload={list.reload} />}
        </Loaded>
      )}
    </div>
  );
}

interface Entry {
  text: string;
  place: number;
}

function Entries({ list, reload }: { list: ListWithEntries; reload: () => Promise<void> }): JSX.Element {
  const [filter, setFilter] = useState("");
  const entries = useMemo(() => list.entries.map((text, index) => ({ text, place: index + 1 })), [list]);
  const shown = useMemo(() => filterEntries(entries, filter), [entries, filter]);
  const columns = useMemo(entryColumns, []);
  return (
    <>
      <ListHead list={list} />
      {list.source.kind === "api" ? (
        <EditEntries name={list.name} entries={list.entries} sha256={list.sha256} reload={reload} />
      ) : (
        <p class="quiet">It comes from a file: change it there. The service follows within a second, or at the next poll.</p>
      )}
      <div class="filter" role="search" aria-label="Entries">
        <input
          type="search"
          aria-label="Filter entries"
          placeholder="Filter entries"
          value={filter}
          onInput={event => setFilter(event.currentTarget.value)}
        />
        <span class="quiet" role="status">
          {plural(shown.length, "entry", "entries")}
        </span>
      </div>
      <Table label="Entries" columns={columns} rows={shown} rowKey={({ place }) => String(place)} fills />
    </>
  );
}

function filterEntries(entries: Entry[], filter: string): Entry[] {
  const wanted = filter.toLowerCase();
  return wanted === "" ? entries : entries.filter(({ text }) => text.toLowerCase().includes(wanted));
}

function entryColumns(): Column<Entry>[] {
  return [
    { key: "place", title: "No.", width: 90, isNumber: true, cell: ({ place }) => count(place) },
    {
      key: "text",
      title: "Entry",
      cell: ({ text }) => (
        <span class="mono">
          <Text value={text} />
        </span>
      ),
    },
  ];
}

function ListHead({ list }: { list: ListWithEntries }): JSX.Element {
  const key = `delete list ${list.name}`;
  const remove = () => actLater(key, `Delete list ${list.name}`, () => deleteList(list.name, list.sha256));
  return (
    <>
      <p class="summary-line">
        <span>{plural(list.count, "entry", "entries")}</span>
        <SourceName source={list.source} />
        <span class="mono quiet">SHA-256 {list.sha256.slice(0, 16)}…</span>
        {list.source.kind === "api" && (
          <span class="actions">
            <button type="button" disabled={isPending(key)} onClick={remove}>
              Delete the list
            </button>
          </span>
        )}
      </p>
      <Users list={list} />
    </>
  );
}

function Users({ list: { used_by } }: { list: ListWithEntries }): JSX.Element {
  if (used_by.length === 0) return <p class="quiet">No rule looks into it.</p>;
  return (
    <p>
      Used by{" "}
      {used_by.map(({ id, name }, place) => (
        <Fragment key={id}>
          {place > 0 && ", "}
          <a href={link("rules", id)}>
            <Text value={name} />
          </a>
        </Fragment>
      ))}
      .
    </p>
  );
}
