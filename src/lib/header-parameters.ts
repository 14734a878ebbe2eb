/** A header value with parameters, such as Content-Type or Content-Disposition. */
interface Parameterized {
  /** The text before the first semicolon, in lower case. */
  readonly value: string;
  /** The values of the parameters by lower-case name. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Names of the parameters whose value contained a backslash. */
  readonly escaped: ReadonlySet<string>;
}

/**
 * One parameter, in any form that clients send: `; name="quoted"` or `; name=bare`. A bare value can contain more characters than a token,
 * because clients send `boundary=----=_Part_1`.
 */
const PARAMETER = /[ \t]*;[ \t]*(?:([^\s;="]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+)))?/sy;

/** Parses `value; name=value; ...`. Returns `null` if the text is malformed or contains a parameter twice. */
export function parseParameters(text: string): Parameterized | null {
  return parse(text, PARAMETER);
}

/**
 * One parameter, in a form that all known parsers read alike. Parsers disagree about empty parameters and a trailing semicolon, about bare
 * values that are not tokens (some truncate them, some drop them), and about single quotes, which quote a value in PHP.
 */
const STRICT_PARAMETER =
  /[ \t]*;[ \t]*([0-9A-Za-z_.*-]+)=(?:"((?:[^"\\]|\\.)*)"|([0-9A-Za-z_.+-][!#$%&'*+\-.^_`|~0-9A-Za-z]*))/sy;

/** Like `parseParameters`, for a header that other programs also read. Also returns `null` if other parsers could read it differently. */
export function parseStrictParameters(text: string): Parameterized | null {
  return parse(text, STRICT_PARAMETER);
}

function parse(text: string, pattern: RegExp): Parameterized | null {
  const value = /^[^\s;"]+/.exec(text)?.[0];
  if (value === undefined) return null;
  const parameters = new Map<string, string>();
  const escaped = new Set<string>();
  pattern.lastIndex = value.length;
  let end = value.length;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    end = pattern.lastIndex;
    const [, spelt, quoted, bare] = match;
    if (spelt === undefined) continue;
    const name = spelt.toLowerCase();
    if (parameters.has(name)) return null;
    // Clients escape only quotes and backslashes. A backslash before another character belongs to a Windows path.
    parameters.set(name, bare ?? quoted!.replace(/\\(["\\])/g, '$1'));
    if (quoted?.includes('\\')) escaped.add(name);
  }
  return /^[ \t]*$/.test(text.slice(end)) ? { value: value.toLowerCase(), parameters, escaped } : null;
}
