/** Makes a value when it is first asked for. Formatters of `Intl` take milliseconds to make. */
export function lazy<T>(make: () => T): () => T {
  let value: T | undefined;
  return () => (value ??= make());
}
