import { eventFields } from '../../lib/event-fields.ts';
import { parseJson } from '../../lib/json.ts';
import { type JsonMember, type JsonOutline, JsonSyntaxError, scanJson } from '../../lib/json-scan.ts';
import type { EventMeaning, StreamReading } from '../metering/tap.ts';
import { addUsage, type ChargeBasis, type ImageCount, noUsage, type Usage } from '../metering/usage-facts.ts';
import type { RequestedImages } from './answer.ts';
import { deliveredAs, readImageUsage } from './usage.ts';

export type ImagesStreamKind = 'image_generation' | 'image_edit';

/** What was requested, with the number of images (`n`). */
export interface RequestedStream extends RequestedImages {
  readonly count: number;
}

const COMPLETED = Buffer.from('.completed');
const ERROR = Buffer.from('"error"');
const ERROR_NAMES = [Buffer.from('event:error'), Buffer.from('event: error')];

/**
 * Streams of images (contract 3, 4.5, 4.6).
 *
 *   streaming ── <kind>.partial_image ─▶ streaming
 *             ── <kind>.completed ─────▶ streaming, until as many have come as images were requested; then ended
 *             ── error ────────────────▶ ended
 *
 * How often `completed` comes with `n` over one is not documented, so a stream may also end behind any of them, and
 * each one is charged. Before the first one it is unknown what the provider did, and nothing is charged.
 *
 * An image is megabytes of base64 on one line. Partial images are not read; of completed ones only the few small members
 * are, where the outline of the event says they stand.
 */
export function readImagesStream(kind: ImagesStreamKind, request: RequestedStream, basis: ChargeBasis): StreamReading {
  const completedName = `${kind}.completed`;
  const partialName = `${kind}.partial_image`;
  const images = new Map<string, ImageCount>();
  /** The sum so far; `null` once a completed event lacked what the call is charged by. */
  let tokens: Usage | null = noUsage;
  let completedCount = 0;

  function matters(bytes: Buffer): boolean {
    // Base64 has neither dots nor quotes nor colons, so an image never looks like one of these.
    return bytes.includes(COMPLETED) || bytes.includes(ERROR) || ERROR_NAMES.some((name) => bytes.includes(name));
  }

  function read(event: Buffer): EventMeaning {
    if (!matters(event)) return 'pass';
    const { name, data } = eventFields(event);
    if (data === null) return 'pass';
    if (name === 'error') return 'failed';
    const members = Members.read(data);
    if (members === null) return 'pass';
    const type = members.text('type');
    if (name === completedName || type === completedName) {
      complete(members);
      return completedCount >= request.count ? 'terminal' : 'pass';
    }
    return type === 'error' || members.holdsSomething('error') ? 'failed' : 'pass';
  }

  function complete(members: Members): void {
    completedCount++;
    const used = readImageUsage(members.value('usage'));
    if (used !== null && tokens !== null) tokens = addUsage(tokens, used);
    else if (basis === 'tokens') tokens = null;
    if (!members.holdsSomething('b64_json') && !members.holdsSomething('url')) return;
    const quality = deliveredAs(members.text('quality'), request.quality);
    const size = deliveredAs(members.text('size'), request.size);
    const key = JSON.stringify([quality, size]);
    images.set(key, { quality, size, count: (images.get(key)?.count ?? 0) + 1 });
  }

  return {
    matters,
    textKeys: [],
    read,
    usage() {
      if (completedCount === 0 || tokens === null) return null;
      if (basis === 'images' && images.size === 0) return null;
      return { ...tokens, images: [...images.values()] };
    },
    partialUsage: () => null,
    get hasOutputEnd() {
      return completedCount > 0;
    },
    get canEndHere() {
      return completedCount > 0;
    },
    isNeededWhole(beginning) {
      // An event that does not name its type at once is read: a final image that passed as a partial one would not be
      // charged.
      const { name, data } = eventFields(beginning);
      return (name ?? typeAtStart(data)) !== partialName;
    },
    isNeverEstimated: true,
  };
}

const TYPE_AT_START = /^\s*\{\s*"type"\s*:\s*"([^"\\]*)"/;

/** The `type` of an event whose data begin with it, which is where providers put it. */
function typeAtStart(data: Buffer | null): string | null {
  return data === null ? null : (TYPE_AT_START.exec(data.toString('latin1'))?.[1] ?? null);
}

/** A member that is read has a few hundred bytes; a larger one is not parsed. */
const MEMBER_BYTES_MAX = 64 * 1024;

/** The members of an event's data, of which single ones are read. */
class Members {
  readonly #data: Buffer;
  readonly #members: readonly JsonMember[];

  private constructor(data: Buffer, outline: JsonOutline) {
    this.#data = data;
    this.#members = outline.members;
  }

  /** `null` where the data are no JSON object, as in the last event of a stream that broke off. */
  static read(data: Buffer): Members | null {
    const outline = outlineOf(data);
    return outline?.kind === 'object' ? new Members(data, outline) : null;
  }

  /** The value of a member, the last one of its name as in any JSON reader; `undefined` where it is absent. */
  value(key: string): unknown {
    const member = this.#find(key);
    if (member === undefined || member.valueEnd - member.valueStart > MEMBER_BYTES_MAX) return undefined;
    return parseJson(this.#data.toString('utf8', member.valueStart, member.valueEnd));
  }

  text(key: string): string | null {
    const value = this.#find(key)?.kind === 'string' ? this.value(key) : null;
    return typeof value === 'string' ? value : null;
  }

  /** Whether a member is there and neither null nor false nor an empty string or object, however large it is. */
  holdsSomething(key: string): boolean {
    const member = this.#find(key);
    if (member === undefined || member.kind === 'null' || member.kind === 'false') return false;
    return member.valueEnd - member.valueStart > 2;
  }

  #find(key: string): JsonMember | undefined {
    return this.#members.findLast((member) => member.key === key);
  }
}

function outlineOf(data: Buffer): JsonOutline | null {
  try {
    return scanJson(data);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return null;
    throw error;
  }
}
