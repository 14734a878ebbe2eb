import { randomFillSync } from 'node:crypto';
import type { FillRandom } from './ids.ts';

export interface TraceContext {
  /** Trace id: 32 hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** Span id: 16 hexadecimal digits, not all zero. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** Pattern of the header. In every version, it begins with the version, the trace id, the span id and the flags. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\x21-\x7e]*)?$/;
const VERSION_0_LENGTH = 55;
/** Maximum length of the header, to which later versions can add fields. Longer headers are ignored. */
const TRACEPARENT_LENGTH_MAX = 256;
const SAMPLED = 1;

/** Parses a `traceparent` header; `null` if it is absent or invalid. */
export function parseTraceparent(header: string | null | undefined): TraceContext | null {
  if (typeof header !== 'string') return null;
  if (header.length < VERSION_0_LENGTH || header.length > TRACEPARENT_LENGTH_MAX) return null;
  const match = TRACEPARENT.exec(header);
  if (match === null) return null;
  const [, version, traceId, spanId, flags] = match as unknown as [string, string, string, string, string];
  if (version === 'ff' || (version === '00' && header.length !== VERSION_0_LENGTH)) return null;
  if (isZero(traceId) || isZero(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

function isZero(hex: string): boolean {
  return /^0+$/.test(hex);
}

/** Formats a `traceparent` header of version 00. */
export function formatTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-0${isSampled ? SAMPLED : 0}`;
}

/** The specification requires propagation up to this length. A longer list is dropped. */
const TRACESTATE_LENGTH_MAX = 512;
const TRACESTATE_MEMBERS_MAX = 32;
const TRACESTATE_MEMBER =
  /^(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Returns the `tracestate` header to propagate; `null` if it is absent or invalid. */
export function validTracestate(header: string | null | undefined): string | null {
  if (typeof header !== 'string' || header.length > TRACESTATE_LENGTH_MAX) return null;
  const members = header
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
  if (members.length === 0 || members.length > TRACESTATE_MEMBERS_MAX) return null;
  return members.every((member) => TRACESTATE_MEMBER.test(member)) ? members.join(',') : null;
}

interface TraceIds {
  traceId(): string;
  spanId(): string;
}

const POOL_BYTES = 4096;

/** Creates ids. Random bytes are drawn in blocks, as in `createIds`. */
export function createTraceIds(fillRandom: FillRandom = randomFillSync): TraceIds {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;

  function hex(bytes: number): string {
    for (;;) {
      if (used + bytes > POOL_BYTES) {
        fillRandom(pool);
        used = 0;
      }
      const text = pool.toString('hex', used, used + bytes);
      used += bytes;
      // An id that is zero is invalid.
      if (!isZero(text)) return text;
    }
  }

  return { traceId: () => hex(16), spanId: () => hex(8) };
}

const RATIO_DIGITS = 12;

/** Whether a trace is exported. This depends only on its id, so that all nodes decide alike. */
export function isInSample(traceId: string, sampleRatio: number): boolean {
  return Number.parseInt(traceId.slice(-RATIO_DIGITS), 16) < sampleRatio * 16 ** RATIO_DIGITS;
}
