/**
 * The form in which two names are equal for a reader that is lax about spelling. Decoders differ: Go's `encoding/json`
 * ignores case by the simple foldings of Unicode, so that `ſ` is an `s` and the Kelvin sign a `k`; Java and .NET compare
 * in upper or lower case, and read `ı` and `İ` as an `i`; Go's `case:ignore` and the JSON form of protocol buffers ignore
 * underscores and hyphens too; where names are strings of C, they end at the first NUL. This form is laxer than all.
 *
 * Linear in the name, and no larger than 64 characters: a longer name is cut, and equals no name that the gateway
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

/** What the lower case of `İ` has beside its `i`. */
const COMBINING_DOT = '\u0307';

function isIgnored(code: number): boolean {
  return code === 0x5f || code === 0x2d;
}

function isUpperCase(code: number): boolean {
  return code >= 0x41 && code <= 0x5a;
}
