import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** The corpus of responses from vendors' documentation (`test/fixtures/dialects/README.md`). */
export interface Dialect {
  /** Folder and case: `moonshot/chat-cached-whole`. */
  readonly name: string;
  readonly document: string;
  readonly date: string;
  readonly protocol: string;
  /** For images: the operation. */
  readonly operation?: 'images.generate' | 'images.edit';
  readonly isStream: boolean;
  readonly request: Readonly<Record<string, unknown>>;
  /** As in a configuration. */
  readonly prices: Readonly<Record<string, unknown>>;
  /** Maximum number of images billed. */
  readonly pictures?: number;
  /** The vendor's bill: quantities with their prices in nano-yuan. */
  readonly bill?: readonly (readonly [quantity: number, priceNano: number])[];
  /** Sum of the bill; `null`: the response cannot be billed, so that the undelivered part is withheld. */
  readonly billNano: string | null;
  /** For image streams: the price of what was delivered up to each event. */
  readonly deliveredNano?: readonly string[];
  /** For other streams: the charge if the stream is abandoned after each event. Absent: within bounds. */
  readonly leftNano?: readonly string[];
  /** Uses that the call record marks as having no price. */
  readonly unpriced?: readonly string[];
  readonly working: string;
  readonly body: Buffer;
}

/** A case as `cases.yaml` has it. */
type WrittenCase = Omit<Dialect, 'name' | 'isStream' | 'body'>;

const folder = new URL('../fixtures/dialects/', import.meta.url);

export function dialects(): Dialect[] {
  const vendors = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return vendors.flatMap(({ name: vendor }) => {
    const cases = parse(read(`${vendor}/cases.yaml`).toString(), repeated) as Record<string, WrittenCase>;
    return Object.entries(cases).map(([caseName, each]): Dialect => {
      const name = `${vendor}/${caseName}`;
      const isStream = caseName.endsWith('-stream');
      return { ...each, name, isStream, body: read(isStream ? `${name}.stream.txt` : `${name}.response.json`) };
    });
  });
}

function read(path: string): Buffer {
  return readFileSync(new URL(path, folder));
}

/** A long text in a request is stored as its beginning and the number of repetitions. */
function repeated(_: unknown, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.keys(value).join() !== 'text,times') return value;
  const { text, times } = value as { text: string; times: number };
  return text.repeat(times);
}

export function billedNano({ bill = [] }: Dialect): bigint {
  return bill.reduce((sum, [quantity, priceNano]) => sum + BigInt(quantity) * BigInt(priceNano), 0n);
}
