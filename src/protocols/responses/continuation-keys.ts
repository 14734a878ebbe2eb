import { hash } from 'node:crypto';
import { isRecord } from '../../lib/json/json.ts';
import { stringAt } from '../../lib/json/string-at.ts';
import { valueStart } from '../metering/estimate.ts';
import { signedKey, signedKeyOfHash } from '../signed-blocks.ts';
import { REFERENCES_MAX, type StateKind, stateKey } from '../state-references.ts';

/**
 * Continuation keys are hashes of everything in a response to which later calls can refer. Such calls must go to the same provider. A
 * response is identified by its id, a compaction by its encrypted content: `r:` or `e:` and a SHA-256 in base64url, so neither is stored.
 * For reasoning, the same provider is only preferred.
 */

/** Maximum number of compactions that are stored for a response, and looked up for a request. */
export const AFFINITY_KEYS_MAX = 16;

export function responseContinuationKey(id: string): string {
  return stateKey({ kind: 'response', id });
}

/** @param content the decoded JSON string; a buffer has it as UTF-8 */
export function encryptedContinuationKey(content: Buffer | string): string {
  return `${ENCRYPTED}${hash('sha256', content, 'base64url')}`;
}

const ENCRYPTED = 'e:';

export function reasoningKeys(continuationKeys: readonly string[]): string[] {
  const contexts = continuationKeys.filter((key) => key.startsWith(ENCRYPTED));
  return contexts.map((key) => signedKeyOfHash(key.slice(ENCRYPTED.length)));
}

/** Item types of compactions: that of the contract (2.1), and that of an earlier version of the vendor's backend. */
const COMPACTION_TYPES: readonly unknown[] = ['compaction', 'compaction_summary'];

const STATE_KEYS_MAX = REFERENCES_MAX;

/** Collects keys of a response: of itself, its items, their containers and files, its compactions, and the last reasoning. */
export class ResponseContinuationKeys {
  readonly #keepsItems: boolean;
  #response: string | null = null;
  readonly #state = new Set<string>();
  readonly #compactions = new Set<string>();
  #reasoning: string | null = null;

  /** @param keepsItems whether the provider stores the items of the response, which the request can forbid */
  constructor(keepsItems = true) {
    this.#keepsItems = keepsItems;
  }

  addResponse(id: unknown): void {
    if (typeof id === 'string' && id !== '') this.#response = responseContinuationKey(id);
  }

  addItem(item: unknown): void {
    if (!isRecord(item)) return;
    if (this.#keepsItems) this.#addState('item', item.id);
    this.#addState('container', item.container_id);
    if (isRecord(item.environment)) this.#addState('container', item.environment.container_id);
    for (const block of Array.isArray(item.content) ? item.content : []) this.#addFiles(block);
    this.#addContext(item);
  }

  addOutput(output: unknown): void {
    for (const item of Array.isArray(output) ? output : [output]) this.addItem(item);
  }

  keys(): readonly string[] {
    return [this.#response, ...this.#compactions, this.#reasoning, ...this.#state].filter((key) => key !== null);
  }

  #addContext({ type, encrypted_content: content }: Record<string, unknown>): void {
    if (typeof content !== 'string' || content === '') return;
    if (type === 'reasoning') {
      this.#reasoning = signedKey(content);
    } else if (COMPACTION_TYPES.includes(type)) {
      this.#compactions.add(encryptedContinuationKey(content));
      const [oldest] = this.#compactions;
      if (this.#compactions.size > AFFINITY_KEYS_MAX) this.#compactions.delete(oldest!);
    }
  }

  #addFiles(block: unknown): void {
    if (!isRecord(block) || !Array.isArray(block.annotations)) return;
    for (const annotation of block.annotations) {
      if (!isRecord(annotation)) continue;
      this.#addState('container', annotation.container_id);
      if (annotation.type === CONTAINER_FILE) this.#addState('file', annotation.file_id);
    }
  }

  #addState(kind: StateKind, id: unknown): void {
    if (typeof id === 'string' && id !== '' && this.#state.size < STATE_KEYS_MAX)
      this.#state.add(stateKey({ kind, id }));
  }
}

const CONTAINER_FILE = 'container_file_citation';

/** Maximum number of matches that are read. A conversation has a few hundred; a hostile input can have millions. */
const PLACES_MAX = 16_384;

const KEY = Buffer.from('"encrypted_content"');
const BACKSLASH = 0x5c;

/**
 * Returns keys of encrypted content in the `input` of a request, newest first. `body[inputStart, inputEnd)` must be valid JSON. It is
 * searched from its end, without parsing. The opening quote of a key never follows a backslash, unlike the same characters in a string.
 * Keys with escapes are not found; no client sends them.
 */
export function continuationKeysOfInput(body: Buffer, inputStart: number, inputEnd: number): string[] {
  const input = body.subarray(inputStart, inputEnd);
  const keys = new Set<string>();
  let at = input.lastIndexOf(KEY);
  for (let places = 0; at !== -1 && places < PLACES_MAX && keys.size < AFFINITY_KEYS_MAX; places++) {
    const content = input[at - 1] === BACKSLASH ? null : stringAt(input, valueStart(input, at + KEY.length));
    if (content !== null && content.length > 0) keys.add(encryptedContinuationKey(content));
    // A negative offset for `lastIndexOf` would count from the end.
    at = at === 0 ? -1 : input.lastIndexOf(KEY, at - 1);
  }
  return [...keys];
}
