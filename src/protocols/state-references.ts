import { hash } from 'node:crypto';
import { invalidRequest } from '../errors/gateway-error.ts';
import { JsonMemberError, JsonReader } from '../lib/json/json-reader.ts';

/**
 * State that a provider keeps between calls. All accounts of the gateway reach it with one credential, so a request may
 * only refer to what responses to its own account contained (docs/provider-state.md).
 *
 * - `response`, `item`, `container`, `file`, `audio`: responses of this gateway contain their ids.
 * - `conversation`, `vector_store`, `prompt`, `skill`: no address of this gateway makes any.
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

  /** Takes the ids of an array in. */
  readIds(reader: JsonReader, kind: StateKind, param: string): void {
    reader.items((index) => this.readId(reader, kind, `${param}[${index}]`));
  }

  add(reference: StateReference): void {
    if (this.list.length === REFERENCES_MAX) {
      throw invalidRequest(`A request may refer to at most ${REFERENCES_MAX} earlier outputs.`, reference.param);
    }
    this.list.push(reference);
  }
}

/**
 * Reads the references in a body that is known to be JSON.
 *
 * @throws GatewayError `invalidRequest` if a member on the way is ambiguous, and as `StateReferences` does.
 */
export function readReferences(
  body: Buffer,
  read: (reader: JsonReader, references: StateReferences) => void,
): readonly StateReference[] {
  const references = new StateReferences();
  try {
    read(new JsonReader(body), references);
  } catch (error) {
    if (!(error instanceof JsonMemberError)) throw error;
    throw invalidRequest(`The key "${error.member}" appears more than once, or in another spelling.`, error.member);
  }
  return references.list;
}
