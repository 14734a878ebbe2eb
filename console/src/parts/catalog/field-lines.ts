import { type Fields, fieldsOf } from './catalog-value.ts';

/** A text with one field per line, such as `temperature: 0.7`. */
export function linesOf(value: unknown): string {
  return Object.entries(fieldsOf(value))
    .map(([name, member]) => `${name}: ${typeof member === 'object' ? JSON.stringify(member) : String(member)}`)
    .join('\n');
}

/** Reads such a text; `null` if a line is no field. Values stay text, which the gateway reads as JSON. */
export function fieldsIn(lines: string): Fields | null {
  const members = lines
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => /^([\w$.-]+)\s*:\s*(\S.*)$/.exec(line));
  if (members.includes(null)) return null;
  return Object.fromEntries(members.map((member) => [member![1]!, member![2]!]));
}
