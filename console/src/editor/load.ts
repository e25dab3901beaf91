/** Loads the editor, which is by far the largest part of the console. The browser keeps it. */
export const loadEditor = () => import("./editor");
