import { hash } from 'node:crypto';
import { isRecord } from '../../lib/json/json.ts';
import { stringAt } from '../../lib/json/string-at.ts';
import { valueStart } from '../metering/estimate.ts';
import { signedKey, signedKeyOfHash } from '../signed-blocks.ts';
import { REFERENCES_MAX, type StateKind, stateKey } from '../state-references.ts';

/**
 * Continuation keys: hashes of what a later call may refer to, which therefore has to go to the provider that made it.
 * A response is known by its id, a compaction by its encrypted content. Both become keys of fixed length, `r:` or `e:` and a
 * SHA-256 in base64url, so that neither an id nor a content is stored. Reasoning is a signed block, whose maker is only
 * preferred.
 */

/** The most contexts that are kept of one response, beside its id, and looked for in one request. */
export const AFFINITY_KEYS_MAX = 16;

export function responseContinuationKey(id: string): string {
  return stateKey({ kind: 'response', id });
}

/** @param content The value of the JSON string, escapes resolved; as a buffer in UTF-8. */
export function encryptedContinuationKey(content: Buffer | string): string {
  return `${ENCRYPTED}${hash('sha256', content, 'base64url')}`;
}

const ENCRYPTED = 'e:';

/** The keys of contexts as those of reasoning, whose maker is only preferred. */
export function reasoningKeys(continuationKeys: readonly string[]): string[] {
  const contexts = continuationKeys.filter((key) => key.startsWith(ENCRYPTED));
  return contexts.map((key) => signedKeyOfHash(key.slice(ENCRYPTED.length)));
}

/** Compactions, by the name in the contract (2.1) and by that of an earlier version of the vendor's own backend. */
const COMPACTION_TYPES: readonly unknown[] = ['compaction', 'compaction_summary'];

/** How many output items, containers and files of one response a later call may refer to. */
const STATE_KEYS_MAX = REFERENCES_MAX;

/**
 * Gathers what a later call may refer to of one response: its id, its items, their containers and files, its
 * compactions, and the last reasoning. Keeps nothing but the keys.
 */
export class ResponseContinuationKeys {
  readonly #keepsItems: boolean;
  #response: string | null = null;
  readonly #state = new Set<string>();
  readonly #compactions = new Set<string>();
  #reasoning: string | null = null;

  /**
   * @param keepsItems Whether the provider keeps the items of the response, as it does unless the request forbids it.
   */
  constructor(keepsItems = true) {
    this.#keepsItems = keepsItems;
  }

  addResponse(id: unknown): void {
    if (typeof id === 'string' && id !== '') this.#response = responseContinuationKey(id);
  }

  /** Takes an output item in; items that no later call can refer to are skipped. */
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

  /** Files that a tool made are cited in annotations of the text. */
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

/**
 * The most places of an input that are looked at. Conversations have a few hundred; a hostile input may have millions.
 */
const PLACES_MAX = 16_384;

const KEY = Buffer.from('"encrypted_content"');
const BACKSLASH = 0x5c;

/**
 * The contexts that the `input` of a request brings along, the newest first, which is the last one in the text; at most
 * `AFFINITY_KEYS_MAX`. `body[inputStart, inputEnd)` is the value of `input` and known to be JSON; it is searched, not parsed.
 * Linear: the text is gone through once from its end, and at most `PLACES_MAX` values are read, each once.
 *
 * A quote that is escaped never opens a string, and one that opens a string never follows a backslash: so single bytes
 * distinguish the key from the same letters inside a text. A key spelt with escapes is not found; no client writes one,
 * and such a call would only lose its continuation key.
 */
export function continuationKeysOfInput(body: Buffer, inputStart: number, inputEnd: number): string[] {
  const input = body.subarray(inputStart, inputEnd);
  const keys = new Set<string>();
  let at = input.lastIndexOf(KEY);
  for (let places = 0; at !== -1 && places < PLACES_MAX && keys.size < AFFINITY_KEYS_MAX; places++) {
    const content = input[at - 1] === BACKSLASH ? null : stringAt(input, valueStart(input, at + KEY.length));
    if (content !== null && content.length > 0) keys.add(encryptedContinuationKey(content));
    // An offset below zero would count from the end.
    at = at === 0 ? -1 : input.lastIndexOf(KEY, at - 1);
  }
  return [...keys];
}
