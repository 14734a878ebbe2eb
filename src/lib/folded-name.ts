/**
 * Returns a normal form of a member name. If any known decoder treats two names as equal, their normal forms are equal. Decoders differ:
 * Go's `encoding/json` ignores case with Unicode's simple folding, so that `ſ` equals `s` and the Kelvin sign equals `k`; Java and .NET
 * compare in upper or lower case, and read `ı` and `İ` as `i`; Go's `case:ignore` and the JSON form of protocol buffers also ignore
 * underscores and hyphens; in C strings, names end at the first NUL.
 *
 * Takes linear time. The form has at most 64 characters. A longer name is truncated, and then differs from every name that the gateway
 * knows.
 */
export function foldedName(name: string): string {
  if (IS_FOLDED.test(name)) return name;
  let folded = '';
  for (let at = 0; at < name.length && folded.length < CHARACTERS_MAX; at++) {
    const code = name.charCodeAt(at);
    if (code === 0) break;
    if (isIgnored(code)) continue;
    if (code < 0x80) folded += isUpperCase(code) ? String.fromCharCode(code + 0x20) : name[at];
    else folded += name[at]!.toLowerCase().toUpperCase().toLowerCase().replace(COMBINING_DOT, '');
  }
  return folded;
}

const CHARACTERS_MAX = 64;
const IS_FOLDED = /^[a-z\d]{1,64}$/;

/** The second character in the lower-case form of `İ`. */
const COMBINING_DOT = '\u0307';

function isIgnored(code: number): boolean {
  return code === 0x5f || code === 0x2d;
}

function isUpperCase(code: number): boolean {
  return code >= 0x41 && code <= 0x5a;
}
