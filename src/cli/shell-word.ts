/** A text as one word of a shell, in quotes if it needs them. */
export function shellWord(text: string): string {
  return /^[\w./:@*=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
