import { hash } from 'node:crypto';
import { invalidRequest } from '../errors/gateway-error.ts';
import type { JsonReader } from '../lib/json/json-reader.ts';

/**
 * State that a provider keeps between calls. All accounts of the gateway reach it with one credential, so a request may
 * only refer to what responses to its own account contained (docs/provider-state.md).
 *
 * - `response`, `item`, `container`, `file`, `audio`: responses of this gateway contain their ids.
 * - `conversation`, `thread`, `vector_store`, `prompt`, `skill`: no address of this gateway makes any.
 * - `tunnel`, `connector`, `profile`: the operator's own, at the vendor.
 * - `cache`, `adapter`, `network`: what a server of models has in memory, on its disk and around it.
 * - `state`: something else, as its name or form shows.
 */
export type StateKind = (typeof KINDS)[number];
const KINDS = [
  'response',
  'item',
  'container',
  'file',
  'audio',
  'conversation',
  'vector_store',
  'prompt',
  'skill',
  'thread',
  'tunnel',
  'connector',
  'profile',
  'cache',
  'adapter',
  'network',
  'state',
] as const;

/** A reference of a request to state that a provider keeps. */
export interface StateReference {
  readonly kind: StateKind;
  readonly id: string;
  /** The field that refers, such as `input[3].id`. */
  readonly param: string;
}

/** A request with more is refused; no history of an agent comes near. */
export const REFERENCES_MAX = 4_096;
const ID_BYTES_MAX = 4_096;

/** The letters of the kinds in keys; kinds without a letter never occur in a response. */
const LETTERS: Readonly<Partial<Record<StateKind, string>>> = {
  response: 'r',
  item: 'i',
  container: 'c',
  file: 'f',
  audio: 'a',
};

/**
 * The key under which an account's own state is stored: a letter and a SHA-256 in base64url, so that no id is stored.
 */
export function stateKey({ kind, id }: Pick<StateReference, 'kind' | 'id'>): string {
  return `${LETTERS[kind] ?? kind}:${hash('sha256', id, 'base64url')}`;
}

/** Whether an address of this gateway could have made state of a kind. */
export function canBeMade(kind: StateKind): boolean {
  return LETTERS[kind] !== undefined;
}

/** Gathers the references of one request. */
export class StateReferences {
  readonly list: StateReference[] = [];

  /**
   * Takes in the next id; null counts as none.
   *
   * @throws GatewayError `invalidRequest` if it is no string, or where the request has too many references.
   */
  readId(reader: JsonReader, kind: StateKind, param: string): void {
    const { kind: form } = reader;
    if (form === 'null') return;
    const id = reader.text(ID_BYTES_MAX);
    if (id === null) {
      const expected = form === 'string' ? `have at most ${ID_BYTES_MAX} bytes` : `be a string, not ${form}`;
      throw invalidRequest(`The field "${param}" must ${expected}.`, param);
    }
    if (id !== '') this.add({ kind, id, param });
  }

  add(reference: StateReference): void {
    if (this.list.length === REFERENCES_MAX) {
      throw invalidRequest(`A request may refer to at most ${REFERENCES_MAX} earlier outputs.`, reference.param);
    }
    this.list.push(reference);
  }
}

/** What a provider adds to a request that refers to state: an earlier response, whose size is known, or a conversation. */
export function continuationOf(references: readonly StateReference[]): 'nothing' | 'response' | 'unknown' {
  let continues: 'nothing' | 'response' = 'nothing';
  for (const { kind } of references) {
    if (UNKNOWN_SIZE.includes(kind)) return 'unknown';
    if (kind === 'response') continues = 'response';
  }
  return continues;
}

const UNKNOWN_SIZE: readonly StateKind[] = ['conversation', 'thread', 'prompt', 'cache', 'state'];
