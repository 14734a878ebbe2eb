/**
 * Where a model writes, as paths in a JSON value: `choices[].delta.content`, where `[]` stands for each item of an array. What stands at
 * other paths, such as the pages that a search found or the result of a tool, is not the model's.
 */
interface WrittenPaths {
  readonly text: readonly string[];
  /** Text that some providers have as an object in place of a string, which counts by the size of its JSON. */
  readonly json?: readonly string[];
  /** The model's reasoning. Providers send the same one at several paths: of these groups the greatest counts. */
  readonly reasoning?: readonly (readonly string[])[];
  /** Reasoning that is encrypted, in base64; it stands for the same reasoning as the groups above. */
  readonly encrypted?: readonly string[];
  /** The objects that are judged one by one, with what stands in them. Absent: the value as a whole, or each event of a stream. */
  readonly judged?: string;
  /** The strings and numbers by which an object is judged, at most 64 bytes each. */
  readonly tells?: readonly string[];
  /** Whether the first of `tells`, if an event lacks it, is the name of the event. Absent: no. */
  readonly isNamedByEvent?: boolean;
}

/** What a model may have written in a judged object: as declared, all of it reasoning, only what is encrypted, or nothing. */
export type Verdict = 'written' | 'reasoning' | 'encrypted' | 'none';

/** Where the model writes in the events of a stream, or in a whole response. */
export interface WrittenRules {
  readonly paths: CompiledPaths;
  /** Judges an object by its tells; `null` for one that is absent. Absent: all is as declared. */
  judge?(tells: readonly (string | null)[]): Verdict;
}

/** Counters: the text, encrypted reasoning, and a group of reasoning each. */
export const TEXT = 0;
export const ENCRYPTED = 1;
export const FIRST_REASONING = 2;
export const NONE = -1;

export interface PathNode {
  readonly members: PathMember[];
  /** A bit for the length of each name, from 32 on again from the first. */
  lengths: number;
  items: PathNode | null;
  counter: number;
  /** Whether an object or an array counts as well. */
  isJson: boolean;
  /** The run of pictures in the text of this path. */
  run: number;
  tell: number;
  isJudged: boolean;
}

interface PathMember {
  readonly name: Buffer;
  readonly node: PathNode;
}

export interface CompiledPaths {
  readonly root: PathNode;
  readonly counters: number;
  readonly runs: number;
  readonly tells: number;
  readonly isNamedByEvent: boolean;
}

/** Paths are compiled once for each protocol. */
export function compilePaths(paths: WrittenPaths): CompiledPaths {
  const { text, json = [], reasoning = [], encrypted = [], judged, tells = [], isNamedByEvent = false } = paths;
  const root = emptyNode();
  for (const [run, path] of text.entries()) Object.assign(nodeAt(root, path), { counter: TEXT, run });
  for (const path of json) Object.assign(nodeAt(root, path), { counter: TEXT, isJson: true });
  for (const path of encrypted) nodeAt(root, path).counter = ENCRYPTED;
  for (const [group, names] of reasoning.entries()) {
    for (const path of names) nodeAt(root, path).counter = FIRST_REASONING + group;
  }
  for (const [tell, path] of tells.entries()) nodeAt(root, path).tell = tell;
  if (judged !== undefined) nodeAt(root, judged).isJudged = true;
  const counters = FIRST_REASONING + Math.max(reasoning.length, 1);
  return { root, counters, runs: text.length, tells: tells.length, isNamedByEvent };
}

/** The same paths below another one. */
export function pathsUnder(prefix: string, paths: readonly string[]): string[] {
  return paths.map((path) => `${prefix}.${path}`);
}

function emptyNode(): PathNode {
  return { members: [], lengths: 0, items: null, counter: NONE, isJson: false, run: NONE, tell: NONE, isJudged: false };
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
