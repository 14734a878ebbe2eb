/** A header value with parameters, such as that of Content-Type. */
interface Parameterized {
  /** The text before the first semicolon, in lower case. */
  readonly value: string;
  /** Values of parameters by name in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Names of parameters whose value contained a backslash. */
  readonly escaped: ReadonlySet<string>;
}

/** A parameter: `; name="quoted"` or `; name=bare`. Bare values may be more than a token: clients send `boundary=----=_Part_1`. */
const PARAMETER = /[ \t]*;[ \t]*(?:([^\s;="]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+)))?/sy;

/** Parses `value; name=value; ...`; `null` if the text is malformed or has a parameter twice. */
export function parseParameters(text: string): Parameterized | null {
  return parse(text, PARAMETER);
}

/**
 * Pattern of a parameter that all known parsers read alike. They disagree about empty parameters, a semicolon at the end, bare values that
 * are no tokens, and single quotes, which quote a value in PHP.
 */
const STRICT_PARAMETER =
  /[ \t]*;[ \t]*([0-9A-Za-z_.*-]+)=(?:"((?:[^"\\]|\\.)*)"|([0-9A-Za-z_.+-][!#$%&'*+\-.^_`|~0-9A-Za-z]*))/sy;

/** Parses a header that other programs also read; `null` also if they could read it differently. */
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
    // Clients escape only quotes and backslashes. Before other characters, a backslash is a part of a Windows path.
    parameters.set(name, bare ?? quoted!.replace(/\\(["\\])/g, '$1'));
    if (quoted?.includes('\\')) escaped.add(name);
  }
  return /^[ \t]*$/.test(text.slice(end)) ? { value: value.toLowerCase(), parameters, escaped } : null;
}
