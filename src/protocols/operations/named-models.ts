import { invalidRequest } from '../../errors/gateway-error.ts';
import { pathsOf } from '../../lib/json/json-paths.ts';
import { decodeString } from '../../lib/json/json-string.ts';
import type { InnerModel } from './operation.ts';

const NAME_BYTES_MAX = 512;
const INNER_MODELS_MAX = 32;

/** LiteLLM's key for the default fallback models. */
const ANY_MODEL = '*';

/** Names of other models in a request. Each has the offset of a value: the name itself, or the value whose key is the name. */
export class NamedModels {
  /** Offsets by name; `null`: a name that is too long. One name more than allowed is kept, to refuse the request. */
  #offsets: Map<string | null, number> | null = null;

  /** Adds the name `bytes[start, end)`, without quotes. */
  add(bytes: Buffer, start: number, end: number, offset: number): void {
    this.#take(end - start > NAME_BYTES_MAX ? null : decodeString(bytes, start, end), offset);
  }

  addAll(others: NamedModels): void {
    for (const [name, offset] of others.#offsets ?? []) this.#take(name, offset);
  }

  #take(name: string | null, offset: number): void {
    if (name === '' || name === ANY_MODEL) return;
    this.#offsets ??= new Map();
    if (!this.#offsets.has(name) && this.#offsets.size <= INNER_MODELS_MAX) this.#offsets.set(name, offset);
  }

  /** Returns the names. @throws GatewayError `invalidRequest` if there are too many, or one is too long */
  list(bytes: Buffer, start: number): InnerModel[] {
    if (this.#offsets === null) return [];
    const paths = pathsOf(bytes, start, [...this.#offsets.values()]);
    const models: InnerModel[] = [];
    for (const [name, offset] of this.#offsets) {
      const param = paths.get(offset)!;
      if (name === null) throw invalidRequest(`The model name in "${param}" is too long.`, param);
      if (models.length === INNER_MODELS_MAX) {
        throw invalidRequest(`The request names more than ${INNER_MODELS_MAX} models.`, param);
      }
      models.push({ name, param });
    }
    return models;
  }
}
