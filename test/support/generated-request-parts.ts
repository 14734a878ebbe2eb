import { writeCarrier } from '../../src/protocols/translation/carriers.ts';
import type { Call, Exchange, Leaf, Said, Settings } from './generated-said.ts';

/** Hash of the provider that the requests are for. */
export const MAKER = 'AAAAAAAAAAA';
const OTHER_MAKER = 'BBBBBBBBBBB';
export const PNG = 'iVBORw0KGgo=';

export type Json = Record<string, unknown>;

/** Writes the leaves and the odd members of one request. */
export class RequestWriter {
  readonly issued = new Map<string, string>();
  readonly said: Said;
  #canaries = 0;
  #marks = 0;
  #thoughts = 0;

  constructor(given: Said) {
    this.said = given;
  }

  text({ kind, around: with_ }: Leaf): string {
    return kind === 'blank' ? with_ : `${with_}c${this.#canaries++}c${with_}`;
  }

  odd(kind: Said['odd'][number], object: Json): Json {
    return this.said.odd.includes(kind) ? { ...object, [`zz_${kind}`]: { a: 1 } } : object;
  }

  /** Marks blocks of a prompt cache, at most as many as vendors accept. */
  mark(object: Json): Json {
    if (!this.said.isMarked || this.#canaries % 3 !== 0 || this.#marks === 4) return object;
    this.#marks++;
    return { ...object, cache_control: { type: 'ephemeral' } };
  }

  /** The reasoning of a turn: its text, and its opaque field. */
  thought(kind: Exchange['reasoning'], calls: readonly Call[]): { text: string; opaque: string } {
    const text = `thought ${this.#thoughts++}`;
    const signature = `sig_${text}`;
    if (kind === 'foreign') return { text, opaque: 'c2lnbmVk' };
    const maker = kind === 'other' ? OTHER_MAKER : MAKER;
    if (kind !== 'other') {
      this.issued.set(signature, text);
      for (const each of calls) this.issued.set(each.id, text);
    }
    const isHidden = kind === 'hidden';
    return { text: isHidden ? '' : text, opaque: writeCarrier({ maker, signature, text }) };
  }

  /** Calls of one turn. Those of turns with this provider's reasoning have ids of their own. */
  calls({ calls, reasoning }: Exchange, turn: number): readonly (Call & { readonly name: string })[] {
    const { toolNames } = this.said;
    return calls.map((each, index) => ({
      ...each,
      name: toolNames[each.tool % Math.max(toolNames.length, 1)] ?? 'gone',
      id: reasoning === 'own' || reasoning === 'hidden' ? `own_${turn}_${index}` : each.id,
      input: { ...each.input, canary: this.text({ kind: 'text', around: '' }) },
    }));
  }

  get choice(): unknown {
    return this.said.choice;
  }

  hints(names: readonly string[]): Json {
    const values: Json = {
      user: 'u1',
      seed: 7,
      top_k: 5,
      metadata: { user_id: 'u2' },
      prompt_cache_key: 'k',
      store: false,
    };
    return Object.fromEntries(
      this.said.settings.hints.filter((name) => names.includes(name)).map((name) => [name, values[name] ?? 0.5]),
    );
  }

  argumentsOf({ input, written }: Call): string {
    if (written === 'empty') return '';
    return written === 'object' ? JSON.stringify(input) : `run ${JSON.stringify(input)}`;
  }
}

/** Members that are present. */
export const given = (members: Json): Json =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));

/** The address or content of a picture or a file. */
export const dataUrl = (kind: Leaf['kind']): string =>
  kind === 'link'
    ? 'https://a.example/b.png'
    : `data:${kind === 'pdf' ? 'application/pdf' : 'image/png'};base64,${PNG}`;

export function formatOf({ format }: Settings, schema: (name: string, rest: Json) => Json): Json | null {
  if (format === 'absent') return null;
  return format === 'object' ? { type: 'json_object' } : schema('out', { schema: { type: 'object' }, strict: true });
}
