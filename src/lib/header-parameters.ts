/** A header value with parameters, such as Content-Type. */
interface Parameterized {
  /** The text before the first semicolon, in lower case. */
  readonly value: string;
  /** Values by lower-case name. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Names of parameters whose value contained a backslash. */
  readonly escaped: ReadonlySet<string>;
}

/** `; name="quoted"` or `; name=bare`. A bare value may have more characters than a token: clients send `boundary=----=_Part_1`. */
const PARAMETER = /[ \t]*;[ \t]*(?:([^\s;="]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+)))?/sy;

/** Parses `value; name=value; ...`. Returns `null` if the text is malformed or contains a parameter twice. */
export function parseParameters(text: string): Parameterized | null {
  return parse(text, PARAMETER);
}

/**
 * A parameter that all known parsers read alike. They disagree about empty parameters, a trailing semicolon, bare values that are not
 * tokens, and single quotes, which quote a value in PHP.
 */
const STRICT_PARAMETER =
  /[ \t]*;[ \t]*([0-9A-Za-z_.*-]+)=(?:"((?:[^"\\]|\\.)*)"|([0-9A-Za-z_.+-][!#$%&'*+\-.^_`|~0-9A-Za-z]*))/sy;

/** Returns `null` also if other parsers could read the header differently. For headers that other programs also read. */
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
    // Clients escape only quotes and backslashes. A backslash before another character is part of a Windows path.
    parameters.set(name, bare ?? quoted!.replace(/\\(["\\])/g, '$1'));
    if (quoted?.includes('\\')) escaped.add(name);
  }
  return /^[ \t]*$/.test(text.slice(end)) ? { value: value.toLowerCase(), parameters, escaped } : null;
}
