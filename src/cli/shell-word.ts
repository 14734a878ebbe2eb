/** Quotes a text for a shell if necessary. */
export function shellWord(text: string): string {
  return /^[\w./:@*=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
