import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { listLists } from "../../api/lists";
import type { List } from "../../api/types";
import { go, link, route, setQuery } from "../../app/router";
import { formatSort, parseSort } from "../../grid/sort";
import { type Column, Table } from "../../grid/table";
import { useResource } from "../../states/resource";
import { Empty, Loaded } from "../../states/views";
import { count, plural } from "../../words/number";
import { SourceName, sourceOrder } from "../../words/source";
import { Text } from "../../words/text";
import { ListView } from "./list_view";

export function ListsPage({ id }: { id: string }): JSX.Element {
  return id === "" ? <AllLists /> : <ListView name={id} />;
}

function AllLists(): JSX.Element {
  const lists = useResource("lists", listLists, { onRules: true });
  return (
    <div class="page fills">
      <div class="page-head">
        <h1 tabIndex={-1}>Lists</h1>
        <NewList />
      </div>
      <Loaded resource={lists} what="lists">
        {all => (all.length === 0 ? <NoLists /> : <ListTable lists={all} />)}
      </Loaded>
    </div>
  );
}

/** Opens the page of a list that does not exist yet. */
function NewList(): JSX.Element {
  const [name, setName] = useState("");
  const open = (event: Event) => {
    event.preventDefault();
    if (name !== "") go(link("lists", name));
  };
  return (
    <form class="inline" onSubmit={open}>
      <input
        type="text"
        aria-label="Name of a new list"
        placeholder="Name of a new list"
        pattern="[A-Za-z_][A-Za-z0-9_]*"
        value={name}
        onInput={event => setName(event.currentTarget.value)}
      />
      <button type="submit">New list</button>
    </form>
  );
}

function columns(): Column<List>[] {
  return [
    {
      key: "name",
      title: "Name",
      sortKey: list => list.name,
      cell: list => (
        <a href={link("lists", list.name)}>
          <Text value={list.name} />
        </a>
      ),
    },
    {
      key: "count",
      title: "Entries",
      width: 100,
      isNumber: true,
      sortKey: list => list.count,
      cell: list => count(list.count),
    },
    {
      key: "source",
      title: "Source",
      width: 360,
      sortKey: list => sourceOrder(list.source),
      cell: list => <SourceName source={list.source} />,
    },
    {
      key: "used_by",
      title: "Used by",
      width: 120,
      isNumber: true,
      sortKey: list => list.used_by.length,
      cell: list => plural(list.used_by.length, "rule"),
    },
    {
      key: "sha256",
      title: "SHA-256",
      width: 160,
      cell: list => <span class="mono quiet">{list.sha256.slice(0, 16)}</span>,
    },
  ];
}

function ListTable({ lists }: { lists: List[] }): JSX.Element {
  const made = useMemo(columns, []);
  return (
    <Table
      label="Lists"
      columns={made}
      rows={lists}
      rowKey={({ name }) => name}
      href={({ name }) => link("lists", name)}
      sort={parseSort(route.value.query.get("sort"), "name")}
      onSort={sort => setQuery({ sort: formatSort(sort) })}
      fills
    />
  );
}

function NoLists(): JSX.Element {
  return (
    <Empty title="No lists are in force">
      <p>
        A rule looks into a list with <code>source in $mules</code>. Name a new list above, or put a file <code>lists/mules.txt</code>{" "}
        beside the rules.
      </p>
    </Empty>
  );
}
