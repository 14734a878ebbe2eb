/**
 * Parses JSON. A number that is not a safe integer stays text with the digits of the file, because a `number` can lose some.
 *
 * @throws SyntaxError, whose message quotes the text
 */
export function parsePriceJson(text: string): unknown {
  return JSON.parse(text, keepDigits);
}

function keepDigits(this: unknown, _key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' && !Number.isSafeInteger(value) ? (context?.source ?? value) : value;
}
