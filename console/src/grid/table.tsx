import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useKeys } from "../app/keys";
import { go } from "../app/router";
import { type Sort, type SortKey, sortRows } from "./sort";
import { ROW_PX, useVirtualRows } from "./virtual_rows";

export interface Column<Row> {
  key: string;
  title: string;
  /** Width in pixels; the columns without one share the rest. */
  width?: number;
  isNumber?: boolean;
  /** Left out on a narrow screen, where the page of the row has it. */
  isWideOnly?: boolean;
  /** Makes the column sortable. */
  sortKey?: (row: Row) => SortKey;
  cell: (row: Row) => ComponentChildren;
}

interface TableProps<Row> {
  label: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  /** Where Enter and a click on the row lead. */
  href?: (row: Row) => string | undefined;
  sort?: Sort;
  onSort?: (sort: Sort) => void;
  rowClass?: (row: Row) => string;
  /** Fills the rest of the page, instead of being as long as its rows. */
  fills?: boolean;
}

/** A table whose rows have one height. Of many rows, only those in view are in the document. */
export function Table<Row>(props: TableProps<Row>): JSX.Element {
  const { columns, rows, sort } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const sorted = useMemo(() => {
    const keyOf = columns.find(({ key }) => key === sort?.column)?.sortKey;
    return keyOf && sort ? sortRows(rows, keyOf, sort.isDescending) : rows;
  }, [rows, sort?.column, sort?.isDescending]);
  const { first, end } = useVirtualRows(scroller, sorted.length);
  const selection = useSelection(scroller, sorted, props);
  return (
    <div class={props.fills ? "table-scroll fills" : "table-scroll"} ref={scroller}>
      <table aria-label={props.label} aria-rowcount={sorted.length + 1} style={widths(columns)}>
        <colgroup>
          {columns.map(({ key, width, isWideOnly }) => (
            <col key={key} class={isWideOnly ? "wide-only" : undefined} style={width === undefined ? {} : { width: `${width}px` }} />
          ))}
        </colgroup>
        <Head {...props} />
        <tbody>
          <Spacer rows={first} />
          {sorted.slice(first, end).map((row, index) => (
            <TableRow
              key={(first + index) % (end - first)}
              row={row}
              index={first + index}
              table={props}
              isSelected={selection.index === first + index}
              selection={selection}
            />
          ))}
          <Spacer rows={sorted.length - end} />
        </tbody>
      </table>
    </div>
  );
}

/** Widths below which the table scrolls to the side instead of squeezing its columns. */
function widths<Row>(columns: Column<Row>[]): Record<string, string> {
  const sum = (shown: Column<Row>[]) => `${shown.reduce((all, { width }) => all + (width ?? 140), 0)}px`;
  const narrow = columns.filter(({ isWideOnly }) => !isWideOnly);
  return { "--width-min": sum(columns), "--width-min-narrow": sum(narrow) };
}

function classOf<Row>({ isNumber, isWideOnly }: Column<Row>): string | undefined {
  const classes = [isNumber ? "number" : "", isWideOnly ? "wide-only" : ""].filter(name => name !== "");
  return classes.length === 0 ? undefined : classes.join(" ");
}

/** Rows that are not in the document. One cell: more would count as columns where some are left out. */
function Spacer({ rows }: { rows: number }): JSX.Element | null {
  if (rows <= 0) return null;
  return (
    <tr aria-hidden="true" class="spacer">
      <td style={{ height: `${rows * ROW_PX}px` }} />
    </tr>
  );
}

function Head<Row>({ columns, sort, onSort }: TableProps<Row>): JSX.Element {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {columns.map(column => {
          const { key, title, isNumber, sortKey } = column;
          const isSorted = sort?.column === key;
          const direction = isSorted && sort.isDescending ? "descending" : "ascending";
          // Numbers are first wanted from the largest.
          const next = { column: key, isDescending: isSorted ? !sort.isDescending : isNumber === true };
          return (
            <th key={key} scope="col" class={classOf(column)} aria-sort={isSorted ? direction : undefined}>
              {sortKey && onSort ? (
                <button type="button" class="plain" onClick={() => onSort(next)}>
                  {title}
                  {isSorted && <span aria-hidden="true">{sort.isDescending ? "↓" : "↑"}</span>}
                </button>
              ) : (
                title
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

interface TableRowProps<Row> {
  row: Row;
  index: number;
  table: TableProps<Row>;
  isSelected: boolean;
  selection: Selection;
}

/** The elements of a row are used again for another one, which is much cheaper than new ones. */
function TableRow<Row>({ row, index, table, isSelected, selection }: TableRowProps<Row>): JSX.Element {
  const element = useRef<HTMLTableRowElement>(null);
  const shownKey = useRef(table.rowKey(row));
  useLayoutEffect(() => {
    const key = table.rowKey(row);
    // A focused button must not act on the row that takes its place. The focus stays on that row.
    if (key !== shownKey.current) leaveButtons(element.current);
    shownKey.current = key;
  });
  const target = table.href?.(row);
  const open = (event: MouseEvent) => {
    // Links and buttons of the row have their own effect, and marked text is not a click.
    if ((event.target as Element).closest("a, button") !== null || String(getSelection()) !== "") return;
    if (target !== undefined) go(target);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) selection.move(step);
    else if (event.key === "Enter" && target !== undefined) go(target);
    else return;
    event.preventDefault();
  };
  const classes = [table.rowClass?.(row) ?? "", target === undefined ? "" : "opens"].join(" ").trim();
  return (
    <tr
      ref={element}
      class={classes || undefined}
      aria-rowindex={index + 2}
      data-index={index}
      tabIndex={isSelected ? 0 : -1}
      onFocus={() => selection.select(index)}
      onKeyDown={onKeyDown}
      onClick={open}
    >
      {table.columns.map(column => (
        <td key={column.key} class={classOf(column)}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}

function leaveButtons(row: HTMLElement | null): void {
  const focused = document.activeElement;
  if (row !== null && focused !== row && row.contains(focused)) row.focus({ preventScroll: true });
}

interface Selection {
  index: number;
  select: (index: number) => void;
  move: (step: number) => void;
}

/** The row that the keys act on: `j` and `k` move it, Enter opens it. */
function useSelection<Row>(scroller: { current: HTMLDivElement | null }, rows: readonly Row[], table: TableProps<Row>): Selection {
  const [index, setIndex] = useState(0);
  const wantsFocus = useRef(false);
  const isMoved = useRef(false);
  const current = Math.min(index, Math.max(0, rows.length - 1));
  const move = (step: number) => {
    const next = isMoved.current ? Math.max(0, Math.min(rows.length - 1, current + step)) : current;
    isMoved.current = true;
    wantsFocus.current = true;
    scrollToRow(scroller.current, next);
    setIndex(next);
    focusRow(scroller.current, next);
  };
  useLayoutEffect(() => {
    if (wantsFocus.current && focusRow(scroller.current, current)) wantsFocus.current = false;
  });
  useKeys(table.label, [
    { keys: "j", title: "Next row; Enter opens it", run: () => move(1) },
    { keys: "k", title: "Previous row", run: () => move(-1) },
  ]);
  return { index: current, select: setIndex, move };
}

function focusRow(scroller: HTMLDivElement | null, index: number): boolean {
  const row = scroller?.querySelector<HTMLElement>(`tr[data-index="${index}"]`);
  if (!row) return false;
  row.focus({ preventScroll: true });
  return true;
}

/** Brings a row into view, also one that is not in the document. The sticky head takes one row. */
function scrollToRow(scroller: HTMLDivElement | null, index: number): void {
  if (scroller === null) return;
  const top = index * ROW_PX;
  const bottom = top + 2 * ROW_PX;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom - scroller.clientHeight;
}
