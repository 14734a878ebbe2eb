/**
 * Returns why a secret is easy to guess, as the predicate of a sentence that does not reveal the secret; `null`: no reason was found.
 * Detects placeholders, keyboard sequences and repetition, but not words of a dictionary.
 */
export function weaknessOf(secret: string, lengthMin: number): string | null {
  if (secret.length < lengthMin) return `has ${secret.length} characters`;
  if (isPlaceholder(secret)) return 'is a placeholder';
  if (new Set(secret).size < DISTINCT_MIN || isPeriodic(secret)) return 'repeats itself';
  return null;
}

/** Whether a secret is a placeholder such as `change-me`, `<your-token>`, `${TOKEN}`, `my-secret-password-123456`. */
export function isPlaceholder(secret: string): boolean {
  if (BRACKETED.test(secret) || PHRASE.test(secret)) return true;
  const words = withoutSequences(secret.toLowerCase().replace(WORD, ' ')).split(/[^\p{L}\p{N}]+/u);
  return words.filter((word) => !SHORT_WORDS.has(word)).join('').length < MEANING_MIN;
}

/** Minimum number of characters that a secret must have without its typical words and sequences. */
const MEANING_MIN = 4;
/** Minimum number of different characters. One in ten thousand random texts of 16 decimal digits has fewer. */
const DISTINCT_MIN = 5;

/** Placeholders of documents, and variables and commands of shells. */
const BRACKETED = /^(?:<.*>|\[.*\]|\{.*\}|\$\{?\w+\}?|\$\(.*\)|`.*`|%\w+%)$/s;
const PHRASE = new RegExp(
  [
    '(?:change|replace|modify)[-_. ]?(?:me|this|it|in|with|by)(?![a-z])',
    'placeholder',
    '(?<![a-z])your(?:[-_. ]|own|admin|token|secret|key|password|api|faregate|gateway)',
    '(?:token|secret|key|password|value)[-_. ]?(?:goes[-_. ]?)?here',
    '(?<![a-z])(?:insert|paste|enter)(?![a-z])',
    '(?<![a-z])(?:example|sample|dummy)[-_. ]?(?:admin|token|secret|key|password)',
  ].join('|'),
  'i',
);
/** Words that are removed wherever they are in the text. A random text rarely contains one. */
const WORD =
  /administrator|operator|password|passwort|passwd|passphrase|faregate|gateway|postgres|placeholder|changeme|production|default|example|openssl|welcome|letmein|base64|private|fixme|todo|replace|change|access|bearer|strong|random|secret|string|please|secure|insert|admin|token|super|value|dummy|login|guest|rand|root|user|your|pass|this|with|long|here|very|some/g;
const SHORT_WORDS = new Set([
  'a',
  'an',
  'the',
  'my',
  'our',
  'me',
  'it',
  'in',
  'by',
  'for',
  'to',
  'of',
  'is',
  'key',
  'api',
  'sk',
  'pw',
  'db',
  'x',
  'abc',
  'hex',
]);

const SEQUENCES = [
  '01234567890',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiop',
  'qwertzuiop',
  'asdfghjkl',
  'zxcvbnm',
].flatMap((line) => [line, [...line].reverse().join('')]);
const SEQUENCE_MIN = 3;

/** Removes runs such as `12345`, `dcba`, `qwerty` and `xxxx`. */
function withoutSequences(text: string): string {
  let rest = '';
  for (let at = 0; at < text.length; ) {
    const length = sequenceAt(text, at);
    if (length < SEQUENCE_MIN) rest += text[at++];
    else at += length;
  }
  return rest;
}

function sequenceAt(text: string, at: number): number {
  let same = 1;
  while (text[at + same] === text[at]) same++;
  const along = SEQUENCES.map((line) => {
    let length = 1;
    for (
      let from = line.indexOf(text[at]!) + 1;
      from > 0 && text[at + length] === line[from] && from < line.length;
      from++
    )
      length++;
    return length;
  });
  return Math.max(same, ...along);
}

/** Whether the text is a repetition of a shorter text. The last repetition may be incomplete. */
function isPeriodic(text: string): boolean {
  for (let period = 1; period * 2 <= text.length; period++) {
    if (text.startsWith(text.slice(period))) return true;
  }
  return false;
}
