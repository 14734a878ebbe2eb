import { CREDENTIALS_MAX } from '../../config/provider-credentials.ts';

/** Removes whatever names a provider, or reveals a credential, from the provider's messages. */

/** A shorter secret could be a part of any word. */
const SECRET_LENGTH_MIN = 4;

/** The credentials that are hidden, present and former: a response to a former one may still be under way. */
const HIDDEN_CREDENTIALS_MAX = 2 * CREDENTIALS_MAX;

/** The texts of a provider that must not reach a client. Its credentials change; former ones are hidden as well. */
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
    // A text that contains another one is looked for first, or its rest would stay.
    this.#texts = [...this.#credentials, ...this.#others].sort((one, other) => other.length - one.length);
    this.#words = this.#texts.filter(({ length }) => length >= SECRET_LENGTH_MIN).map((text) => text.toLowerCase());
  }

  get texts(): readonly string[] {
    return this.#texts;
  }

  /** In lower case, without those that are too short to differ from ordinary words: for headers. */
  get words(): readonly string[] {
    return this.#words;
  }
}

const MESSAGE_CHARS_MAX = 4_000;
const URL_PATTERN = /\b(?:https?|wss?):\/\/[^\s"'<>)\]}\\]+/gi;
const KEY_PATTERN = /\b(?:(?:sk|pk|rk|key)-|fg_[a-z]+_)[A-Za-z0-9_*-]{8,}/g;
/** A key of which a part is hidden, as vendors repeat it: `AIza****Q4xw`. It begins where a word does, for speed. */
const MASKED_KEY_PATTERN = /(?<![\w-])[\w-]{2,}\*{3,}[\w*-]*/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: removing control characters is the purpose
const CONTROL_PATTERN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/**
 * Removes whatever names the provider or reveals a credential. Hosts have no case, so the case of secrets is ignored.
 * JSON stays JSON.
 */
export function removeSecrets(text: string, secrets: readonly string[]): string {
  let scrubbed = text.replace(CONTROL_PATTERN, '').replace(URL_PATTERN, '[address]');
  scrubbed = hideKeys(scrubbed);
  for (const secret of secrets) {
    if (secret.length < SECRET_LENGTH_MIN) continue;
    scrubbed = scrubbed.replace(new RegExp(escapePattern(secret), 'gi'), '[provider]');
  }
  return scrubbed;
}

/** The text without what looks like a key, whole or masked. */
export function hideKeys(text: string): string {
  return text.replace(KEY_PATTERN, '[key]').replace(MASKED_KEY_PATTERN, '[key]');
}

/** As `removeSecrets`, for a message: bounded in length. */
export function scrub(text: string, secrets: readonly string[]): string {
  const scrubbed = removeSecrets(text, secrets);
  return scrubbed.length > MESSAGE_CHARS_MAX ? `${scrubbed.slice(0, MESSAGE_CHARS_MAX)}…` : scrubbed;
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
