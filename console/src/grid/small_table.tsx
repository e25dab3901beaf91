import type { ComponentChildren, JSX } from "preact";

interface SmallTableProps {
  label: string;
  /** Headings of the columns; an object with `number` aligns to the right. */
  columns: (string | { number: string })[];
  /** Rows. */
  children: ComponentChildren;
}

/** A table of a few rows inside a panel. */
export function SmallTable({ label, columns, children }: SmallTableProps): JSX.Element {
  return (
    <table class="small-table" aria-label={label}>
      <thead>
        <tr>
          {columns.map(column =>
            typeof column === "string" ? (
              <th key={column} scope="col">
                {column}
              </th>
            ) : (
              <th key={column.number} scope="col" class="number">
                {column.number}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
