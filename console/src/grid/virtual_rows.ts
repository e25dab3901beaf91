import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Height of a row in the style sheet. */
export const ROW_PX = 28;
/** Rows drawn above and below the visible ones. */
const MARGIN = 4;
/** Up to this number all rows are drawn. */
const ALL_MAX = 30;

export interface RowWindow {
  first: number;
  /** One past the last row. */
  end: number;
}

/** Returns the rows to draw of a list that scrolls within `scroller`. */
export function useVirtualRows(scroller: RefObject<HTMLElement | null>, n_rows: number): RowWindow {
  const [view, setView] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  if (n_rows <= ALL_MAX) return { first: 0, end: n_rows };
  const first = Math.max(0, Math.min(Math.floor(view.top / ROW_PX), n_rows) - MARGIN);
  return { first, end: Math.min(n_rows, first + Math.ceil(view.height / ROW_PX) + 2 * MARGIN) };
}
