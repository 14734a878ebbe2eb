/** The keys of mappings and the indexes of lists from the root of a text to a value. */
export type YamlPath = readonly (string | number)[];

/** What is entered at the end of a text: the name of a member of the mapping at `path`, or the value at `path`. */
export interface YamlPosition {
  readonly kind: 'member' | 'value';
  readonly path: YamlPath;
  /** Offset of the first character of the entered word. */
  readonly from: number;
  /** Whether the word is in a collection of the form `{ … }` or `[ … ]`. */
  readonly isFlow: boolean;
}

/** The members of each mapping, by `pathKey`. */
export type YamlMembers = ReadonlyMap<string, ReadonlySet<string>>;

export function pathKey(path: YamlPath): string {
  return JSON.stringify(path);
}

/** The position at an offset; `null` in a comment, in a block of text and after a complete value. */
export function positionAt(text: string, offset: number): YamlPosition | null {
  return read(text.slice(0, offset)).position;
}

export function membersOf(text: string): YamlMembers {
  return read(text).members;
}

interface Level {
  readonly indent: number;
  readonly key: string | number;
}

/** An open collection in flow style. */
interface Flow {
  readonly path: YamlPath;
  readonly isMapping: boolean;
  key: string | null;
  index: number;
}

const BLOCK_OF_TEXT = /^[|>][+-]?\d?[+-]?\s*(?:#.*)?$/;

/**
 * Reads as much of a YAML text as its structure needs. Unlike a parser, it accepts a text that is being written, whose last line may be
 * incomplete.
 */
function read(text: string): { readonly position: YamlPosition | null; readonly members: YamlMembers } {
  const members = new Map<string, Set<string>>();
  const levels: Level[] = [];
  const flows: Flow[] = [];
  /** The indentation of the key of a block of text. */
  let blockIndent: number | null = null;
  let position: YamlPosition | null = null;
  let lineStart = 0;

  const pathOf = (): YamlPath => levels.map(({ key }) => key);
  const leave = (isInside: (level: Level) => boolean): void => {
    while (levels.length > 0 && !isInside(levels.at(-1)!)) levels.pop();
  };
  const note = (path: YamlPath, name: string): void => {
    const key = pathKey(path);
    members.set(key, (members.get(key) ?? new Set()).add(name));
  };

  for (const line of text.split('\n')) {
    position = readLine(line);
    lineStart += line.length + 1;
  }
  return { position, members };

  function readLine(line: string): YamlPosition | null {
    if (flows.length > 0) return readFlow(line, 0, flows, pathOf(), lineStart, note);
    const indent = spaces(line, 0);
    const isBlank = indent === line.length;
    if (blockIndent !== null && (isBlank || indent > blockIndent)) return null;
    blockIndent = null;
    if (line[indent] === '#') return null;
    if (isBlank) {
      // Only the last line has a position, so the levels of a blank line are those of the line that follows it.
      const path = levels.filter((level) => level.indent < indent).map(({ key }) => key);
      return { kind: 'member', path, from: lineStart + indent, isFlow: false };
    }
    let at = indent;
    while (/^-(?:\s|$)/.test(line.slice(at))) {
      let index = 0;
      const start = at;
      leave(({ indent: column, key }) => {
        if (column < start || (column === start && typeof key === 'string')) return true;
        if (column === start) index = Number(key) + 1;
        return false;
      });
      levels.push({ indent: start, key: index });
      at += 1 + spaces(line, at + 1);
    }
    const isItem = at > indent;
    const key = keyAt(line, at);
    if (key === null) {
      leave((level) => level.indent < at);
      if (/^[{[]/.test(line.slice(at))) return readFlow(line, at, flows, pathOf(), lineStart, note);
      return { kind: isItem ? 'value' : 'member', path: pathOf(), from: lineStart + at, isFlow: false };
    }
    leave((level) => level.indent < at);
    const { name, colonEnd } = key;
    note(pathOf(), name);
    levels.push({ indent: at, key: name });
    const valueStart = colonEnd + spaces(line, colonEnd);
    const value = line.slice(valueStart);
    if (/^[{[]/.test(value)) return readFlow(line, valueStart, flows, pathOf(), lineStart, note);
    if (BLOCK_OF_TEXT.test(value)) blockIndent = at;
    if (blockIndent !== null || colonEnd === line.length || /(?:^|\s)#/.test(value)) return null;
    return { kind: 'value', path: pathOf(), from: lineStart + valueStart, isFlow: false };
  }
}

/** The key at an offset, and the end of its colon; `null` if there is none. */
function keyAt(line: string, start: number): { readonly name: string; readonly colonEnd: number } | null {
  const first = line[start] ?? '';
  if (/[#[\]{},&*!|>%@`]/.test(first)) return null;
  const isQuoted = first === '"' || first === "'";
  const nameEnd = isQuoted ? quotedEnd(line, start) + 1 : start + 1;
  for (let at = nameEnd; at < line.length; at++) {
    if (line[at] === '#' && line[at - 1] === ' ') return null;
    if (line[at] !== ':' || /\S/.test(line[at + 1] ?? ' ')) continue;
    const name = isQuoted ? line.slice(start + 1, nameEnd - 1) : line.slice(start, at).trimEnd();
    return { name, colonEnd: at + 1 };
  }
  return null;
}

/** Reads flow collections to the end of a line. */
function readFlow(
  line: string,
  start: number,
  flows: Flow[],
  outer: YamlPath,
  lineStart: number,
  note: (path: YamlPath, name: string) => void,
): YamlPosition | null {
  let word = start;
  for (let at = start; at < line.length; at++) {
    const char = line[at]!;
    const top = flows.at(-1);
    if (char === '"' || char === "'") at = quotedEnd(line, at);
    else if (char === '#' && /\s/.test(line[at - 1] ?? ' ')) return null;
    else if (char === '{' || char === '[') {
      flows.push({ path: top === undefined ? outer : pathIn(top), isMapping: char === '{', key: null, index: 0 });
      word = at + 1;
    } else if (char === '}' || char === ']') {
      flows.pop();
      if (flows.length === 0) return null;
      word = at + 1;
    } else if (char === ',' && top !== undefined) {
      top.key = null;
      top.index++;
      word = at + 1;
    } else if (char === ':' && top?.isMapping === true && top.key === null && /[\s,}]/.test(line[at + 1] ?? ' ')) {
      top.key = line
        .slice(word, at)
        .trim()
        .replace(/^(["'])(.*)\1$/, '$2');
      note(top.path, top.key);
      word = at + 1;
    }
  }
  const top = flows.at(-1)!;
  // A colon needs a space after it.
  if (line[word - 1] === ':' && word === line.length) return null;
  const isMember = top.isMapping && top.key === null;
  const from = lineStart + word + spaces(line, word);
  return { kind: isMember ? 'member' : 'value', path: isMember ? top.path : pathIn(top), from, isFlow: true };
}

function pathIn({ path, isMapping, key, index }: Flow): YamlPath {
  return [...path, isMapping ? (key ?? '') : index];
}

/** The offset of the closing quotation mark, or of the end of the line. */
function quotedEnd(line: string, start: number): number {
  const mark = line[start];
  for (let at = start + 1; at < line.length; at++) {
    if (mark === '"' && line[at] === '\\') at++;
    else if (line[at] === mark) return at;
  }
  return line.length;
}

/** The number of spaces at an offset. */
function spaces(line: string, start: number): number {
  return /^\s*/.exec(line.slice(start))![0].length;
}
