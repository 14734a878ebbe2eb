import fc from 'fast-check';
import type { JsonKind } from '../../src/lib/json/json-scan.ts';

/** Arbitrary JSON texts with all the freedom of RFC 8259: odd spacing, escapes, duplicate keys, numbers of any size. */

/** A piece of JSON and its value. */
export interface SpeltString {
  readonly text: string;
  readonly value: string;
}

export const space: fc.Arbitrary<string> = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 });

const escapes: readonly SpeltString[] = [
  { text: '\\"', value: '"' },
  { text: '\\\\', value: '\\' },
  { text: '\\/', value: '/' },
  { text: '\\b', value: '\b' },
  { text: '\\f', value: '\f' },
  { text: '\\n', value: '\n' },
  { text: '\\r', value: '\r' },
  { text: '\\t', value: '\t' },
  { text: '\\u0000', value: '\u0000' },
  { text: '\\u00E9', value: 'é' },
  { text: '\\u4f60', value: '你' },
  { text: '\\uD83D\\uDE00', value: '😀' },
  { text: '\\ud800', value: '\ud800' },
];

const piece: fc.Arbitrary<SpeltString> = fc.oneof(
  fc.constantFrom(...escapes),
  fc.constantFrom('é', '你', '😀', '\u007f', '\u2028', '\ufeff', ' ', '{', '}', '[', ']', ',', ':').map(plain),
  fc.string({ unit: fc.constantFrom(...'abcdefgxyzMODEL_0123'), maxLength: 6 }).map(plain),
);

function plain(text: string): SpeltString {
  return { text, value: text };
}

export const stringText: fc.Arbitrary<SpeltString> = fc.array(piece, { maxLength: 5 }).map((pieces) => ({
  text: `"${pieces.map((part) => part.text).join('')}"`,
  value: pieces.map((part) => part.value).join(''),
}));

/**
 * Names of members, for tests against `JSON.parse`. None contains a backslash: once V8 13.6 has read an object with such a name, it
 * confuses other names that are spelt with escapes with it.
 */
export const nameText: fc.Arbitrary<SpeltString> = stringText.filter(({ value }) => !value.includes('\\'));

export const numberText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('0', '-0', '0.10', '1e5', '1E+400', '-2.50e-3', '9223372036854775807', '12345678901234567890123'),
  fc.bigInt().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
);

export const valueText: fc.Arbitrary<string> = fc.letrec<{ value: string; member: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.oneof(
      fc.constantFrom('true', 'false', 'null'),
      numberText,
      stringText.map(({ text }) => text),
    ),
    container('[', tie('value'), ']'),
    container('{', tie('member'), '}'),
  ),
  member: fc
    .tuple(nameText, space, space, tie('value'))
    .map(([key, before, after, value]) => `${key.text}${before}:${after}${value}`),
})).value;

function container(open: string, item: fc.Arbitrary<string>, close: string): fc.Arbitrary<string> {
  const items = fc.array(
    fc.tuple(space, item, space).map((parts) => parts.join('')),
    { maxLength: 3 },
  );
  return fc
    .tuple(items, space)
    .map(([texts, inside]) => open + (texts.length === 0 ? inside : texts.join(',')) + close);
}

/** One member of an object, as the texts that it consists of. */
export interface SpeltMember {
  readonly beforeKey: string;
  readonly key: SpeltString;
  readonly beforeColon: string;
  readonly beforeValue: string;
  readonly value: string;
  readonly afterValue: string;
}

export function memberOf(key: fc.Arbitrary<SpeltString>, value: fc.Arbitrary<string>): fc.Arbitrary<SpeltMember> {
  return fc.record({
    beforeKey: space,
    key,
    beforeColon: space,
    beforeValue: space,
    value,
    afterValue: space,
  });
}

export function memberText(member: SpeltMember): string {
  const { beforeKey, key, beforeColon, beforeValue, value, afterValue } = member;
  return `${beforeKey}${key.text}${beforeColon}:${beforeValue}${value}${afterValue}`;
}

export function objectText(members: readonly SpeltMember[]): string {
  return `{${members.map(memberText).join(',')}}`;
}

/** A key, spelt plainly or with one of its letters escaped. */
export function keySpelling(name: string): fc.Arbitrary<SpeltString> {
  const spellings = [...name].map((letter, at) => {
    const escaped = `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
    return `"${name.slice(0, at)}${escaped}${name.slice(at + 1)}"`;
  });
  return fc
    .constantFrom(JSON.stringify(name), JSON.stringify(name), ...spellings)
    .map((text) => ({ text, value: name }));
}

export function kindOf(value: string): JsonKind {
  switch (value[0]) {
    case '{':
      return 'object';
    case '[':
      return 'array';
    case '"':
      return 'string';
    case 't':
      return 'true';
    case 'f':
      return 'false';
    case 'n':
      return 'null';
    default:
      return 'number';
  }
}
