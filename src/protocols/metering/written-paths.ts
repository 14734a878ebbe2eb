/** Where a JSON value contains text by the model, as paths such as `choices[].delta.content`; `[]` means each item of an array. */
interface WrittenPaths {
  readonly text: readonly string[];
  /** Paths of text that some providers send as an object. The size of its JSON counts. */
  readonly json?: readonly string[];
  /** Paths of reasoning, in groups. Providers send the same reasoning at several paths, so only the largest group counts. */
  readonly reasoning?: readonly (readonly string[])[];
  /** Paths of encrypted reasoning in base64, an alternative to the groups above. */
  readonly encrypted?: readonly string[];
  /** Path of the objects whose text is classified separately. Absent: the whole value or, in a stream, each event. */
  readonly classified?: string;
  /** Paths of strings and numbers by which an object's text is classified. Values have at most 64 bytes. */
  readonly selectors?: readonly string[];
  /** Whether the name of an event replaces a missing first selector. */
  readonly isNamedByEvent?: boolean;
}

/** What counts in an object: the text as the paths declare it, all text as reasoning, only encrypted reasoning, or nothing. */
export type TextClass = 'written' | 'reasoning' | 'encrypted' | 'none';

export interface WrittenRules {
  readonly paths: CompiledPaths;
  /** Classifies the text of an object by its selector values (`null` if missing). Absent: all text counts as declared. */
  classify?(selectors: readonly (string | null)[]): TextClass;
}

/** Indices of counters. Each group of reasoning has one, from `FIRST_REASONING`. */
export const TEXT = 0;
export const ENCRYPTED = 1;
export const FIRST_REASONING = 2;
export const NONE = -1;

export interface PathNode {
  readonly members: PathMember[];
  /** Bit set of name lengths modulo 32. */
  lengths: number;
  items: PathNode | null;
  counter: number;
  isJson: boolean;
  /** Index of the `DataRuns` for this path. */
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
