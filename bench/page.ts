/** Replaces the part of a document between two markers that a run of the bench writes. */

const BEGIN = '<!-- figures: npm run bench -- --record -->';
const END = '<!-- end of figures -->';

/** @throws Error if the document lacks a marker */
export function withFigures(document: string, figures: string): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`There are no marks "${BEGIN}" and "${END}" to write between.`);
  return `${document.slice(0, begin + BEGIN.length)}\n\n${figures}\n\n${document.slice(end)}`;
}
