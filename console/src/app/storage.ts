/** What this browser keeps. Where it keeps nothing, as with blocked cookies, settings last as long as the page. */
export function readStored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Stores a value; `null` removes it. */
export function store(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // The setting or draft is lost with the page.
  }
}
