import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  parseDocument,
  type Scalar,
  stringify,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { isRecord } from '../lib/json/json.ts';
import { readDocument } from './document.ts';
import { ConfigError } from './load.ts';

/** This file changes YAML texts, and leaves comments, quotes and everything else as they are. */

export type EditPath = readonly (string | number)[];

export interface Edit {
  readonly path: EditPath;
  /** New value as JSON; absent or `null`: the key or item is deleted. */
  readonly value?: unknown;
}

/** Parses a text. @throws ConfigError if it is not YAML */
export function parseYaml(text: string): Document {
  // Scalars stay text, because as a number 4.10 would become 4.1.
  const document = parseDocument(text, { schema: 'failsafe', uniqueKeys: false, keepSourceTokens: true });
  if (document.errors.length === 0) return document;
  const problems = readDocument(text, {}).problems.map(({ path, line, message }) => ({
    line,
    key: path.map(String).join('.'),
    message,
  }));
  throw new ConfigError('catalog', problems);
}

const NO_VALUE = /^(?:~|null|Null|NULL|)$/;

/** Returns the value of a node, with aliases resolved. Scalars are text; a key without a value is `undefined`. */
export function plainValue(node: unknown, document: Document): unknown {
  if (isAlias(node)) return plainValue(node.resolve(document), document);
  if (isMap(node)) return Object.fromEntries(node.items.map((pair) => [keyOf(pair), plainValue(pair.value, document)]));
  if (isSeq(node)) return node.items.map((item) => plainValue(item, document));
  if (!isScalar(node) || (node.type === 'PLAIN' && NO_VALUE.test(String(node.value)))) return undefined;
  return node.value;
}

export function keyOf({ key }: Pair): string {
  return isScalar(key) ? String(key.value) : '';
}

/** Replaces aliases by the values of their anchors. */
export function expandAliases(
  text: string,
  document: Document,
  isExpanded: (alias: Alias) => boolean = () => true,
): string {
  const splices: Splice[] = [];
  visit(document, {
    Alias(_key, alias) {
      const [start, end] = alias.range!;
      if (isExpanded(alias)) splices.push({ start, end, text: inline(plainValue(alias, document)) });
    },
  });
  return spliced(text, splices);
}

/**
 * Applies edits one after another. A map or list is changed key by key, so that everything in it that is equal stays as it is.
 *
 * @throws ConfigError if the text is not YAML
 */
export function editYaml(text: string, edits: readonly Edit[]): string {
  const editor = new Editor(expandAliases(text, parseYaml(text)));
  for (const { path, value } of edits) editor.set(path, value);
  return editor.text();
}

interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function spliced(text: string, splices: readonly Splice[]): string {
  const inOrder = splices.toSorted((one, other) => one.start - other.start);
  const kept = [...inOrder, { start: text.length, end: 0, text: '' }].map(
    ({ start, text: added }, index) => text.slice(inOrder[index - 1]?.end ?? 0, start) + added,
  );
  return kept.join('');
}

/** An entry of a map or list. It reaches from the key or dash to the end of the value. */
interface Entry {
  readonly value: unknown;
  readonly start: number;
  readonly end: number;
}

type Collection = YAMLMap<unknown, unknown> | YAMLSeq;

class Editor {
  #text: string;
  /** The parsed text; `null`: it has changed since it was parsed. */
  #document: Document | null = null;
  /** New texts of scalars. They are applied together, because every change of the structure requires parsing again. */
  readonly #scalars = new Map<Scalar, string>();

  constructor(text: string) {
    this.#text = text;
  }

  text(): string {
    this.#applyScalars();
    return this.#text;
  }

  set(path: EditPath, value: unknown): void {
    const node = this.#find(path);
    if (value === undefined || value === null) this.#delete(path);
    else if (isMap(node) && isRecord(value) && node.items.length > 0) {
      const surplus = node.items.map(keyOf).filter((key) => !Object.hasOwn(value, key));
      for (const [key, member] of Object.entries(value)) this.set([...path, key], member);
      for (const key of surplus) this.#delete([...path, key]);
    } else if (isSeq(node) && Array.isArray(value) && node.items.length > 0) {
      const { length } = node.items;
      for (const [index, item] of value.entries()) this.set([...path, index], item);
      for (let index = length - 1; index >= value.length; index--) this.#delete([...path, index]);
    } else if (isInline(node) && typeof value !== 'object' && !String(value).includes('\n')) {
      if (node.value === String(value)) return;
      node.value = String(value);
      this.#scalars.set(node, inline(value));
    } else this.#place(path, value);
  }

  /** Adds a value, or replaces one so that the number of lines may change. */
  #place(path: EditPath, value: unknown): void {
    this.#applyScalars();
    const key = path.at(-1);
    const parent = this.#find(path.slice(0, -1));
    if (key === undefined) this.#placeRoot(value);
    else if (!isFilled(parent) || isSeq(parent) !== (typeof key === 'number')) {
      this.set(path.slice(0, -1), typeof key === 'number' ? [value] : { [key]: value });
    } else if (parent.flow) {
      const text = isSeq(parent) ? inline(value) : `${inline(key)}: ${inline(value)}`;
      const entries = this.#entries(parent);
      const entry = entries[indexOf(parent, key)];
      const { end } = entries.at(-1)!;
      this.#splice(entry ? { ...entry, text } : { start: end, end, text: `, ${text}` });
    } else this.#placeLines(parent, key, value);
  }

  #placeRoot(value: unknown): void {
    const { contents } = this.#parsed();
    const [start, end] = contents?.range ?? [this.#text.length, this.#text.length];
    const lineBreak = /[^\n]$/.test(this.#text.slice(0, start)) ? '\n' : '';
    this.#splice({ start, end, text: lineBreak + stringify(value, BLOCK) });
  }

  #placeLines(parent: Collection, key: string | number, value: unknown): void {
    const entries = this.#entries(parent);
    const entry = entries[indexOf(parent, key)];
    const { start } = entry ?? entries[0]!;
    const indent = ' '.repeat(start - this.#lineStart(start));
    const written = stringify(isSeq(parent) ? [value] : { [key]: value }, BLOCK).replace(/\n$/, '');
    const [head, ...rest] = written.split('\n');
    const lines = rest.map((line) => (line === '' ? '\n' : `\n${indent}${line}`)).join('');
    const end = this.#lineEnd((entry ?? entries.at(-1)!).end);
    if (entry === undefined) this.#splice({ start: end, end, text: `\n${indent}${head}${lines}` });
    // A comment after the old value stays on the first line.
    else this.#splice({ start, end, text: head + this.#text.slice(entry.end, end) + lines });
  }

  #delete(path: EditPath): void {
    this.#applyScalars();
    const parent = this.#find(path.slice(0, -1));
    const entries = isFilled(parent) ? this.#entries(parent) : [];
    const index = isFilled(parent) ? indexOf(parent, path.at(-1)) : -1;
    const entry = entries[index];
    if (!isFilled(parent) || entry === undefined) return;
    const { start, end } = entry;
    const next = entries[index + 1];
    if (entries.length === 1 && isSeq(parent) && !parent.flow) {
      // An empty list is written, because without a value the key could mean "all".
      this.#place(path.slice(0, -1), []);
    } else if (parent.flow) {
      const [from, to] = next === undefined ? [entries[index - 1]?.end ?? start, end] : [start, next.start];
      this.#splice({ start: from, end: to, text: '' });
    } else {
      const lineStart = this.#lineStart(start);
      const lineEnd = this.#lineEnd(end);
      const isFirstOnLine = this.#text.slice(lineStart, start).trim() === '';
      const isNextAdjacent = next !== undefined && this.#text.slice(lineEnd, next.start).trim() === '';
      if (isFirstOnLine) this.#splice({ start: lineStart, end: lineEnd + 1, text: '' });
      // After a dash, the next key takes the place of the deleted one.
      else if (next === undefined) this.#splice({ start, end, text: '{}' });
      else this.#splice({ start, end: isNextAdjacent ? next.start : lineEnd, text: '' });
    }
  }

  #applyScalars(): void {
    const scalars = [...this.#scalars].map(([{ range }, text]) => ({ start: range![0], end: range![1], text }));
    if (scalars.length > 0) this.#splice(...scalars);
  }

  #parsed(): Document {
    this.#document ??= parseYaml(this.#text);
    return this.#document;
  }

  #splice(...splices: readonly Splice[]): void {
    this.#text = spliced(this.#text, splices);
    this.#document = null;
    this.#scalars.clear();
  }

  #find(path: EditPath): unknown {
    let node: unknown = this.#parsed().contents;
    for (const key of path) {
      if (!isMap(node) && !isSeq(node)) return undefined;
      const item: unknown = node.items[indexOf(node, key)];
      node = isMap(node) ? (item as Pair | undefined)?.value : item;
    }
    return node;
  }

  #entries(collection: Collection): Entry[] {
    if (isMap(collection)) {
      return collection.items.map((pair) => {
        const [start, keyEnd] = (pair.key as Scalar).range!;
        const colon = pair.srcToken?.sep?.find(({ type }) => type === 'map-value-ind');
        return { value: pair.value, start, end: this.#endOf(pair.value, colon ? colon.offset + 1 : keyEnd) };
      });
    }
    const token = collection.srcToken;
    return collection.items.map((value, index) => {
      const dash = token?.type === 'block-seq' && token.items[index]?.start.find(({ type }) => type === 'seq-item-ind');
      const start = dash ? dash.offset : (value as Scalar).range![0];
      return { value, start, end: this.#endOf(value, dash ? start + 1 : start) };
    });
  }

  /** Returns where the text of a value ends; `emptyEnd` if it has none. */
  #endOf(node: unknown, emptyEnd: number): number {
    if (isFilled(node) && !node.flow) return this.#entries(node).at(-1)!.end;
    const [start, end] = (node as Scalar | null)?.range ?? [0, 0];
    if (start === end) return emptyEnd;
    return this.#text[end - 1] === '\n' ? end - 1 : end;
  }

  #lineStart(offset: number): number {
    return this.#text.lastIndexOf('\n', offset - 1) + 1;
  }

  #lineEnd(offset: number): number {
    const end = this.#text.indexOf('\n', offset);
    return end < 0 ? this.#text.length : end;
  }
}

const BLOCK = { lineWidth: 0 } as const;

/** Formats a value on one line. */
function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (!isRecord(value)) return stringify(value ?? null, { lineWidth: 0, collectionStyle: 'flow' }).trimEnd();
  const members = Object.entries(value).map(([key, member]) => `${inline(key)}: ${inline(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

function isInline(node: unknown): node is Scalar {
  return isScalar(node) && node.range![0] < node.range![1] && !node.type?.startsWith('BLOCK');
}

function isFilled(node: unknown): node is Collection {
  return (isMap(node) || isSeq(node)) && node.items.length > 0;
}

function indexOf(collection: Collection, key: string | number | undefined): number {
  return isMap(collection) ? collection.items.findIndex((pair) => keyOf(pair) === String(key)) : Number(key);
}
