/** Marks in the text of a statement with parts that are only known at run time. */
export const MARKS = {
  /** Alternative texts: `open`, the texts separated by `or`, `close`. */
  open: '\ue000',
  or: '\ue001',
  close: '\ue002',
  /** A part that is only known at run time. */
  unknown: '\ue003',
} as const;

interface State {
  /** The next name is a table. */
  isTableNext: boolean;
  /** A table may follow a comma. */
  isList: boolean;
}

/** A table follows these words. */
const BEFORE_TABLE = new Set(['from', 'join', 'into', 'update', 'using', 'table', 'truncate', 'only']);
/** Words between those and the table. */
const BETWEEN = new Set(['only', 'lateral', 'if', 'not', 'exists', 'table']);
/** After these words, no table follows a comma. */
const END_OF_LIST = new Set([
  'where',
  'select',
  'set',
  'values',
  'group',
  'order',
  'having',
  'limit',
  'returning',
  'in',
]);

const TOKEN = /--[^\n\ue000-\ue003]*|\/\*[^\ue000-\ue003]*?\*\/|[A-Za-z_][\w$]*|[\ue000-\ue003]|'|[^\s\w]|\w+/g;

/** A monthly partition of `calls`, or the beginning of its name if the month is only known at run time. */
const MONTH_TABLE = /^calls_(?:default|\d{4}_\d\d)?$/;

/**
 * The tables of `known` that SQL uses. Only names after certain keywords count, so columns and aliases do not. A name that is only known
 * at run time is `MARKS.unknown`.
 */
export function tablesIn(sql: string, known: ReadonlySet<string>): Set<string> {
  const found = new Set<string>();
  let state: State = { isTableNext: false, isList: false };
  const outer: State[] = [];
  const alternatives: { readonly state: State; readonly depth: number }[] = [];
  let before = '';
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(sql); match !== null; match = TOKEN.exec(sql)) {
    const token = match[0];
    if (token.startsWith('--') || token.startsWith('/*')) continue;
    if (token === "'") TOKEN.lastIndex = endOfText(sql, TOKEN.lastIndex);
    take(token.toLowerCase(), sql[TOKEN.lastIndex]);
    before = token.toLowerCase();
  }
  return found;

  function take(token: string, next: string | undefined): void {
    if (token === MARKS.open) alternatives.push({ state: { ...state }, depth: outer.length });
    else if (token === MARKS.or) {
      const { state: first, depth } = alternatives.at(-1)!;
      outer.length = Math.min(outer.length, depth);
      state = { ...first };
    } else if (token === MARKS.close) alternatives.pop();
    else if (token === '(') {
      outer.push(state);
      state = { isTableNext: state.isTableNext, isList: state.isTableNext };
    } else if (token === ')') {
      state = outer.pop() ?? state;
      state.isTableNext = false;
    } else if (token === ',') state.isTableNext = state.isList;
    else if (state.isTableNext && (known.has(token) || token === MARKS.unknown) && next !== '.') {
      found.add(token);
      state.isTableNext = false;
    } else if (state.isTableNext && MONTH_TABLE.test(token)) {
      found.add('calls');
      state.isTableNext = false;
    } else if (BEFORE_TABLE.has(token) && before !== 'distinct') {
      state.isTableNext = true;
      state.isList = true;
    } else if (!BETWEEN.has(token)) {
      state.isTableNext = false;
      if (END_OF_LIST.has(token)) state.isList = false;
    }
  }
}

/**
 * The position after the closing quote of a text. Skips alternatives inside it. A text without a closing quote, such as a sentence with
 * an apostrophe, ends with its alternative.
 */
function endOfText(sql: string, from: number): number {
  let depth = 0;
  for (let at = from; at < sql.length; at++) {
    const character = sql[at];
    if (depth === 0 && character === "'") return at + 1;
    if (depth === 0 && (character === MARKS.or || character === MARKS.close)) return at;
    if (character === MARKS.open) depth++;
    else if (character === MARKS.close) depth--;
  }
  return sql.length;
}
