/** Where a JSON value has text that the model wrote, as paths such as `choices[].delta.content`. `[]` stands for each item of an array. */
interface WrittenPaths {
  readonly text: readonly string[];
  /** Paths of text that some providers send as an object. The size of its JSON counts. */
  readonly json?: readonly string[];
  /** Groups of paths of reasoning. Providers may send the same reasoning at several paths, so only the largest group counts. */
  readonly reasoning?: readonly (readonly string[])[];
  /** Paths of encrypted reasoning in base64. It counts only instead of the groups above. */
  readonly encrypted?: readonly string[];
  /** Path of objects whose text is classified separately. Absent: the whole value or, in a stream, each event. */
  readonly classified?: string;
  /** Paths of strings and numbers that determine who wrote an object's text. Values have at most 64 bytes. */
  readonly selectors?: readonly string[];
  /** Whether the event's name replaces the first selector if that is missing. */
  readonly isNamedByEvent?: boolean;
}

/** What counts of an object: text as its paths say, all text as reasoning, only encrypted reasoning, or nothing. */
export type TextClass = 'written' | 'reasoning' | 'encrypted' | 'none';

export interface WrittenRules {
  readonly paths: CompiledPaths;
  /** Classifies an object's text by its selectors (`null`: missing). Absent: all text counts as its paths say. */
  classify?(selectors: readonly (string | null)[]): TextClass;
}

/** Numbers of counters. Each group of reasoning has one, from `FIRST_REASONING` on. */
export const TEXT = 0;
export const ENCRYPTED = 1;
export const FIRST_REASONING = 2;
export const NONE = -1;

export interface PathNode {
  readonly members: PathMember[];
  /** Lengths of member names, modulo 32, as a bit set. */
  lengths: number;
  items: PathNode | null;
  counter: number;
  isJson: boolean;
  /** Index of the `DataRuns` object that searches this path for base64. */
  run: number;
  selector: number;
  isClassified: boolean;
}

interface PathMember {
  readonly name: Buffer;
  readonly node: PathNode;
}

export interface CompiledPaths {
  readonly root: PathNode;
  readonly counters: number;
  readonly runs: number;
  readonly selectors: number;
  readonly isNamedByEvent: boolean;
}

export function compilePaths(paths: WrittenPaths): CompiledPaths {
  const { text, json = [], reasoning = [], encrypted = [], classified, selectors = [], isNamedByEvent = false } = paths;
  const root = emptyNode();
  for (const [run, path] of text.entries()) Object.assign(nodeAt(root, path), { counter: TEXT, run });
  for (const path of json) Object.assign(nodeAt(root, path), { counter: TEXT, isJson: true });
  for (const path of encrypted) nodeAt(root, path).counter = ENCRYPTED;
  for (const [group, names] of reasoning.entries()) {
    for (const path of names) nodeAt(root, path).counter = FIRST_REASONING + group;
  }
  for (const [selector, path] of selectors.entries()) nodeAt(root, path).selector = selector;
  if (classified !== undefined) nodeAt(root, classified).isClassified = true;
  const counters = FIRST_REASONING + Math.max(reasoning.length, 1);
  return { root, counters, runs: text.length, selectors: selectors.length, isNamedByEvent };
}

export function pathsUnder(prefix: string, paths: readonly string[]): string[] {
  return paths.map((path) => `${prefix}.${path}`);
}

function emptyNode(): PathNode {
  return {
    members: [],
    lengths: 0,
    items: null,
    counter: NONE,
    isJson: false,
    run: NONE,
    selector: NONE,
    isClassified: false,
  };
}

function nodeAt(root: PathNode, path: string): PathNode {
  let node = root;
  for (const step of path.split(/\.|(?=\[\])/)) {
    if (step === '[]') node = node.items ??= emptyNode();
    else node = memberOf(node, step);
  }
  return node;
}

function memberOf(parent: PathNode, name: string): PathNode {
  const bytes = Buffer.from(name);
  const known = parent.members.find((member) => member.name.equals(bytes));
  if (known !== undefined) return known.node;
  const node = emptyNode();
  parent.members.push({ name: bytes, node });
  parent.lengths |= 1 << bytes.length;
  return node;
}
