/** A header such as Content-Type or Content-Disposition. */
export interface Parameterized {
  /** What stands before the first semicolon, in lower case. */
  readonly value: string;
  /** By lower-case name. */
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * One parameter: `; name="quoted"` or `; name=bare`. A bare value may hold more than a token, because clients write
 * `boundary=----=_Part_1` and `name=image[]` so.
 */
const PARAMETER = /[ \t]*;[ \t]*(?:([^\s;="]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+)))?/sy;

/** Reads `value; name=value; ...`; `null` where it is malformed or names a parameter twice. */
export function parseParameters(text: string): Parameterized | null {
  const value = /^[^\s;"]+/.exec(text)?.[0];
  if (value === undefined) return null;
  const parameters = new Map<string, string>();
  PARAMETER.lastIndex = value.length;
  let end = value.length;
  for (let match = PARAMETER.exec(text); match !== null; match = PARAMETER.exec(text)) {
    end = PARAMETER.lastIndex;
    const [, name, quoted, bare] = match;
    if (name === undefined) continue;
    if (parameters.has(name.toLowerCase())) return null;
    // Only quotes and backslashes are ever escaped; a backslash before anything else is one of a Windows path.
    parameters.set(name.toLowerCase(), bare ?? quoted!.replace(/\\(["\\])/g, '$1'));
  }
  return /^[ \t]*$/.test(text.slice(end)) ? { value: value.toLowerCase(), parameters } : null;
}
