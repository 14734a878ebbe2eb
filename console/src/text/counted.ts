/** A number with its noun, in English: `1 call`, `1,000 calls`. */
export const counted = (count: string | number, one: string, many = `${one}s`): string =>
  `${count} ${String(count) === '1' ? one : many}`;
