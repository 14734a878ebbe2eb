/**
 * Returns the folded form of a member name. Two names have the same form if any known decoder treats them as equal: Go's `encoding/json`
 * folds case (`ſ` equals `s`, the Kelvin sign equals `k`); Java and .NET compare in upper or lower case and read `ı` and `İ` as `i`; Go's
 * `case:ignore` and protocol buffers ignore underscores and hyphens; C strings end at the first NUL.
 *
 * Takes linear time. A form is truncated to 64 characters, and then differs from every name that the gateway knows.
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

/** The second character of `İ` in lower case. */
const COMBINING_DOT = '\u0307';

function isIgnored(code: number): boolean {
  return code === 0x5f || code === 0x2d;
}

function isUpperCase(code: number): boolean {
  return code >= 0x41 && code <= 0x5a;
}
