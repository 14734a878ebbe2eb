import { hash } from 'node:crypto';
import { invalidRequest } from '../errors/gateway-error.ts';
import type { JsonReader } from '../lib/json/json-reader.ts';

/**
 * Kinds of state that providers keep between calls. All accounts share the gateway's credentials, so a request may refer only to state from
 * responses to its own account (docs/provider-state.md).
 * - `response`, `item`, `container`, `file`, `audio`: responses contain their ids
 * - `conversation`, `thread`, `vector_store`, `prompt`, `skill`: no endpoint of this gateway creates them
 * - `tunnel`, `connector`, `profile`: they belong to the operator's account at the vendor
 * - `cache`, `adapter`, `network`: memory, files and network of a model server
 * - `state`: of unknown kind, recognized by a name or by the form of an id
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

export interface StateReference {
  readonly kind: StateKind;
  readonly id: string;
  /** Path of the member with the reference, such as `input[3].id`. */
  readonly param: string;
}

/** Maximum number of references in a request. An agent's history has far fewer. */
export const REFERENCES_MAX = 4_096;
const ID_BYTES_MAX = 4_096;

/** First letters of keys, by kind. State of other kinds is never in a response. */
const LETTERS: Readonly<Partial<Record<StateKind, string>>> = {
  response: 'r',
  item: 'i',
  container: 'c',
  file: 'f',
  audio: 'a',
};

/** Returns the key under which state is stored: a letter and a SHA-256 in base64url, so that the id is not stored. */
export function stateKey({ kind, id }: Pick<StateReference, 'kind' | 'id'>): string {
  return `${LETTERS[kind] ?? kind}:${hash('sha256', id, 'base64url')}`;
}

export function canBeMade(kind: StateKind): boolean {
  return LETTERS[kind] !== undefined;
}

export class StateReferences {
  readonly list: StateReference[] = [];

  /** Reads an id. @throws GatewayError `invalidRequest` if the value is not a string, or the request has too many references */
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

/** Returns what the provider adds to the context: nothing, an earlier response of known size, or an unknown amount. */
export function continuationOf(references: readonly StateReference[]): 'nothing' | 'response' | 'unknown' {
  let continues: 'nothing' | 'response' = 'nothing';
  for (const { kind } of references) {
    if (UNKNOWN_SIZE.includes(kind)) return 'unknown';
    if (kind === 'response') continues = 'response';
  }
  return continues;
}

const UNKNOWN_SIZE: readonly StateKind[] = ['conversation', 'thread', 'prompt', 'cache', 'state'];
