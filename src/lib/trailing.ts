/** Takes linear time. A pattern such as `/0+$/` would take quadratic time for runs within the text. */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}

/** Returns the text before the first of these characters, or the whole text. */
export function upTo(text: string, characters: string): string {
  const place = [...characters].map((each) => text.indexOf(each)).filter((found) => found >= 0);
  return place.length === 0 ? text : text.slice(0, Math.min(...place));
}
