import { CREDENTIALS_MAX } from '../../config/provider-credentials.ts';

/** Shorter texts are not removed from messages: they could be part of any word. */
const SECRET_LENGTH_MIN = 4;

/** Maximum number of credentials to remove, current and former ones: responses to calls with a former credential can still arrive. */
const HIDDEN_CREDENTIALS_MAX = 2 * CREDENTIALS_MAX;

export class HiddenTexts {
  readonly #others: readonly string[];
  #credentials: readonly string[] = [];
  #texts: readonly string[] = [];
  #words: readonly string[] = [];

  constructor(others: readonly string[]) {
    this.#others = others;
  }

  addCredential(credential: string): void {
    this.#credentials = [credential, ...this.#credentials.filter((other) => other !== credential)].slice(
      0,
      HIDDEN_CREDENTIALS_MAX,
    );
    // Longest first: if one text contains another, it must be removed as a whole.
    this.#texts = [...this.#credentials, ...this.#others].sort((one, other) => other.length - one.length);
    this.#words = this.#texts.filter(({ length }) => length >= SECRET_LENGTH_MIN).map((text) => text.toLowerCase());
  }

  get texts(): readonly string[] {
    return this.#texts;
  }

  /** The hidden texts in lower case, to be compared with headers. Texts that could be part of any word are left out. */
  get words(): readonly string[] {
    return this.#words;
  }
}

const MESSAGE_CHARS_MAX = 4_000;
const URL_PATTERN = /\b(?:https?|wss?):\/\/[^\s"'<>)\]}\\]+/gi;
const KEY_PATTERN = /\b(?:(?:sk|pk|rk|key)-|fg_[a-z]+_)[A-Za-z0-9_*-]{8,}/g;
/** A partly masked key, as vendors repeat it: `AIza****Q4xw`. Matching starts only at word boundaries, for speed. */
const MASKED_KEY_PATTERN = /(?<![\w-])[\w-]{2,}\*{3,}[\w*-]*/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: removing control characters is the purpose
const CONTROL_PATTERN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** Removes text that names the provider or reveals a credential, regardless of case. JSON remains valid. */
export function removeSecrets(text: string, secrets: readonly string[]): string {
  let scrubbed = text.replace(CONTROL_PATTERN, '').replace(URL_PATTERN, '[address]');
  scrubbed = hideKeys(scrubbed);
  for (const secret of secrets) {
    if (secret.length < SECRET_LENGTH_MIN) continue;
    scrubbed = scrubbed.replace(new RegExp(escapePattern(secret), 'gi'), '[provider]');
  }
  return scrubbed;
}

export function hideKeys(text: string): string {
  return text.replace(KEY_PATTERN, '[key]').replace(MASKED_KEY_PATTERN, '[key]');
}

export function scrub(text: string, secrets: readonly string[]): string {
  const scrubbed = removeSecrets(text, secrets);
  return scrubbed.length > MESSAGE_CHARS_MAX ? `${scrubbed.slice(0, MESSAGE_CHARS_MAX)}…` : scrubbed;
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
