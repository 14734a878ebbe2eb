import type { ModelConfig } from '../../config/schema.ts';

/** A member of a list, as JSON. */
export interface ListedEntry {
  readonly id: string;
  readonly text: string;
}

/** Returns the entries of a model with their ids: one, and one for each further name under which it is listed. */
type Describe = (id: string, model: ModelConfig) => readonly (readonly [string, object])[];

/**
 * A format of models in lists. The text of a model is kept as long as its configuration: written anew for each request, a list of 3,000
 * models takes the serving thread for 10 ms.
 */
export class ListFormat {
  readonly #describe: Describe;
  readonly #written = new WeakMap<ModelConfig, { readonly id: string; readonly entries: readonly ListedEntry[] }>();

  constructor(describe: Describe) {
    this.#describe = describe;
  }

  entriesOf(id: string, model: ModelConfig): readonly ListedEntry[] {
    const known = this.#written.get(model);
    if (known?.id === id) return known.entries;
    const entries = this.#describe(id, model).map(([name, entry]) => ({ id: name, text: JSON.stringify(entry) }));
    this.#written.set(model, { id, entries });
    return entries;
  }
}

/** Returns a list as JSON: its members, and its entries in the member `name`. */
export function listText(members: object, name: string, entries: readonly ListedEntry[]): string {
  const before = JSON.stringify(members).slice(1, -1);
  const list = `${JSON.stringify(name)}:[${entries.map(({ text }) => text).join()}]`;
  return `{${before === '' ? '' : `${before},`}${list}}`;
}
