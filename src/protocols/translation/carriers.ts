import { hash } from 'node:crypto';
import { isRecord, parseJson } from '../../lib/json/json.ts';

/**
 * Reasoning of a provider that travels in an opaque field of the client's protocol, such as `signature`, so that it comes back with the next
 * call: `fg1.`, a hash of the provider, and the payload.
 */
export interface Carrier {
  /** Hash of the provider that wrote the reasoning. */
  readonly maker: string;
  /** Text of the reasoning, if the client does not show it. */
  readonly text?: string;
  /** The provider's own opaque fields. */
  readonly signature?: string;
  readonly data?: string;
  /** `reasoning_details` as JSON text. */
  readonly details?: string;
}

/** `format` of an item of `reasoning_details` that is a carrier. */
export const CARRIER_FORMAT = 'faregate-carrier-v1';

const VERSION = 'fg1';
const MAKER_LENGTH = 11;

/** Identifies a provider without telling its name. */
export function makerOf(providerId: string): string {
  return hash('sha256', `provider ${providerId}`, 'base64url').slice(0, MAKER_LENGTH);
}

export function writeCarrier({ maker, ...payload }: Carrier): string {
  const isEmpty = Object.values(payload).every((part) => part === undefined);
  return `${VERSION}.${maker}.${isEmpty ? '' : Buffer.from(JSON.stringify(payload)).toString('base64url')}`;
}

/** Reads a carrier; `null` if the text is none, but for example the signature of another vendor. */
export function readCarrier(text: string): Carrier | null {
  const [version, maker, payload, ...rest] = text.split('.');
  if (version !== VERSION || maker?.length !== MAKER_LENGTH || payload === undefined || rest.length > 0) return null;
  if (payload === '') return { maker };
  const read = parsed(Buffer.from(payload, 'base64url').toString('utf8'));
  if (read === null) return null;
  const carrier: Record<string, string> = { maker };
  for (const name of PARTS) {
    const part = read[name];
    if (typeof part === 'string') carrier[name] = part;
  }
  return carrier as unknown as Carrier;
}

const MARK = Buffer.from(`"${VERSION}.`);
const SEARCHED = MARK.subarray(1);

/**
 * Whether a body may have carriers. Bodies are searched without the quote, because JSON is full of quotes: 1 MiB of it takes 50 to 300 µs,
 * with the quote up to 3 ms.
 */
export function mayHaveCarriers(body: Buffer): boolean {
  return body.indexOf(SEARCHED) !== -1;
}

/** Returns the maker of the newest carrier in a body; `null` if it has none. */
export function newestMaker(body: Buffer): string | null {
  const start = body.lastIndexOf(MARK);
  if (start === -1) return null;
  const end = body.indexOf(QUOTE, start + 1);
  return end === -1 ? null : (readCarrier(body.toString('latin1', start + 1, end))?.maker ?? null);
}

const QUOTE = 0x22;

const PARTS = ['text', 'signature', 'data', 'details'] as const;

function parsed(json: string): Record<string, unknown> | null {
  const value = parseJson(json);
  return isRecord(value) ? value : null;
}
