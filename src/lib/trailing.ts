/** Removes a character from the end, in linear time. A pattern such as `/0+$/` takes quadratic time for runs within the text. */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}

/** Returns the text before the first of these characters; the whole text if it has none of them. */
export function upTo(text: string, characters: string): string {
  const place = [...characters].map((each) => text.indexOf(each)).filter((found) => found >= 0);
  return place.length === 0 ? text : text.slice(0, Math.min(...place));
}
