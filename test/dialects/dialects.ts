import { readdirSync, readFileSync } from 'node:fs';

/** The corpus of responses as the documents of vendors print them (`test/fixtures/dialects/README.md`). */
export interface Dialect {
  /** Its folder and file: `moonshot/chat-cached-whole`. */
  readonly name: string;
  readonly document: string;
  readonly date: string;
  readonly protocol: string;
  /** Of images: the operation. */
  readonly operation?: 'images.generate' | 'images.edit';
  readonly isStream: boolean;
  readonly request: Readonly<Record<string, unknown>>;
  /** As in a configuration. */
  readonly prices: Readonly<Record<string, unknown>>;
  /** The most pictures that are billed. */
  readonly pictures?: number;
  /** The lines of the vendor's bill: a quantity and the price of each, in nano-yuan. */
  readonly bill?: readonly (readonly [quantity: number, priceNano: number])[];
  /** Their sum; `null`: the response cannot be billed, so that it is withheld, as far as it has not been delivered. */
  readonly billNano: string | null;
  /** Of a stream of images: what has been delivered with each event and those before it, at its price. */
  readonly deliveredNano?: readonly string[];
  /** Of another stream: what it costs to leave it behind each event. Absent: within bounds. */
  readonly leftNano?: readonly string[];
  /** What the record of the call marks as used without a price. */
  readonly unpriced?: readonly string[];
  readonly working: string;
  /** The response. */
  readonly body: Buffer;
}

const folder = new URL('../fixtures/dialects/', import.meta.url);

/** All cases of all vendors. */
export function dialects(): Dialect[] {
  const vendors = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return vendors.flatMap(({ name: vendor }) =>
    readdirSync(new URL(`${vendor}/`, folder)).flatMap((file): Dialect[] => {
      if (!file.endsWith('.json') || file.endsWith('.response.json')) return [];
      const name = `${vendor}/${file.slice(0, -'.json'.length)}`;
      const read = (path: string): Buffer => readFileSync(new URL(path, folder));
      const each = JSON.parse(read(`${name}.json`).toString(), repeated) as Omit<Dialect, 'name' | 'body'>;
      return [{ ...each, name, body: read(each.isStream ? `${name}.stream.txt` : `${name}.response.json`) }];
    }),
  );
}

/** A long text of a request is kept as its beginning, and how often it comes. */
function repeated(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.keys(value).join() !== 'text,times') return value;
  const { text, times } = value as { text: string; times: number };
  return text.repeat(times);
}

/** The sum of the lines of a bill. */
export function billedNano({ bill = [] }: Dialect): bigint {
  return bill.reduce((sum, [quantity, priceNano]) => sum + BigInt(quantity) * BigInt(priceNano), 0n);
}
