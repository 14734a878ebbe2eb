import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorKind } from '../errors/catalogue.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { FairSlots } from '../lib/fair/fair-slots.ts';
import { parseParameters } from '../lib/header-parameters.ts';
import type { Soon } from '../lib/soon.ts';
import { createYoungGarbageCollector } from '../lib/young-garbage.ts';
import { type BodyBudgets, type BodyMemory, type BodyTenant, LARGE_BODY_BYTES } from './body-budgets.ts';
import { BodyBytes } from './body-bytes.ts';
import { BodyDecoder, type BodyEncoding, decoderBytes, encodingNamed } from './body-decoder.ts';
import { UploadPace } from './upload-pace.ts';

export interface BodyLimits {
  /** Maximum size of the body, as sent and decoded. */
  readonly sizeBytesMax: number;
  /** The error if the body is larger; absent: `requestTooLarge`. */
  readonly tooLarge?: { readonly kind: ErrorKind; readonly message: string };
  /** Within this time, the next 8 KiB of the body or its end must arrive; see `UploadPace`. */
  readonly idleTimeoutMs: number;
  /** A monotonic clock; absent: that of the process. */
  readonly nowMs?: () => number;
}

/** Who sends a body: the account and its limits. */
export interface BodyOwner {
  readonly tenant: BodyTenant;
  readonly budgets: BodyBudgets;
  /** Checks the account before more than 1 MiB of a large body is read; called once. If it rejects, the body is refused. */
  readonly look: (() => Promise<void>) | null;
}

/** Requests with `Expect: 100-continue`. The gateway sends `100 Continue` only when it reads their body. */
const awaitingContinue = new WeakSet<IncomingMessage>();

export function markAwaitingContinue(request: IncomingMessage): void {
  awaitingContinue.add(request);
}

export function isAwaitingContinue(request: IncomingMessage): boolean {
  return awaitingContinue.has(request);
}

/** Checks the content type. @throws GatewayError `unsupportedMediaType` if it is not JSON */
export function requireJson(request: IncomingMessage): void {
  const contentType = request.headers['content-type'];
  if (contentType === 'application/json') return;
  if (contentType === undefined) {
    throw new GatewayError('unsupportedMediaType', {
      message: 'The Content-Type header is missing; send application/json.',
    });
  }
  const type = parseParameters(contentType);
  if (type?.value !== 'application/json' || !isUtf8(type.parameters)) throw new GatewayError('unsupportedMediaType');
}

/** Whether the charset is UTF-8 or absent. Other parameters `charset*` are refused, because some parsers prefer them to `charset`. */
function isUtf8(parameters: ReadonlyMap<string, string>): boolean {
  for (const name of parameters.keys()) if (name.includes('*')) return false;
  return /^utf-?8$/i.test(parameters.get('charset') ?? 'utf-8');
}

export interface HeldBody {
  readonly bytes: Buffer;
  /** Returns the memory to the budget. May be called repeatedly. */
  release(): void;
}

/**
 * Reads a whole body into memory and decodes it. `consume` also gets the decoded bytes as they arrive. A body without an owner counts in no
 * budget.
 *
 * @throws GatewayError `requestTooLarge` (before the body is read if its Content-Length exceeds the limit), `unsupportedMediaType` for an
 * unknown encoding, `invalidRequest` for broken compressed data, `requestTimeout`, `overloaded` if the budget has no memory,
 * `malformedHttp` if the body ends early, and the error of the owner's precheck
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
  consume: ((piece: Buffer) => void) | null = null,
  owner: BodyOwner | null = null,
): Soon<HeldBody> {
  const body = openBody(request, limits);
  const { announcedBytes, encoding } = body;
  const isSmall = announcedBytes !== null && announcedBytes <= LARGE_BODY_BYTES && encoding === null;
  if (isSmall && hasCompleteBody(body) && !isAwaitingContinue(request)) return readAtOnce(body, consume, owner);
  return readPieces(body, response, consume, owner);
}

/** Reads a small body that has already arrived completely. */
function readAtOnce(
  { request, limits, announcedBytes }: OpenBody,
  consume: ((piece: Buffer) => void) | null,
  owner: BodyOwner | null,
): HeldBody {
  const memory = owner === null ? null : owner.budgets.takeSmall(owner.tenant, announcedBytes!);
  try {
    // The buffer must own its memory, because counting tokens transfers this memory to another thread.
    const bytes = takeReceived(request, limits) ?? Buffer.alloc(0);
    consume?.(bytes);
    return { bytes, release: () => memory?.release() };
  } catch (error) {
    memory?.release();
    throw error;
  }
}

async function readPieces(
  body: OpenBody,
  response: ServerResponse,
  consume: ((piece: Buffer) => void) | null,
  owner: BodyOwner | null,
): Promise<HeldBody> {
  const { announcedBytes, encoding } = body;
  const isLarge = encoding !== null || (announcedBytes !== null && announcedBytes > LARGE_BODY_BYTES);
  if (isLarge) await owner?.look?.();
  const memory = owner === null ? null : owner.budgets.memoryOf(owner.tenant);
  let decodedBytes = 0;
  const bytes = new BodyBytes(encoding === null ? announcedBytes : null, (sizeBytes) => {
    const decoder = encoding === null ? 0 : decoderBytes(encoding, decodedBytes);
    memory?.need(sizeBytes + decoder, isLarge || sizeBytes > LARGE_BODY_BYTES);
  });
  let isChecked = isLarge;
  try {
    if (announcedBytes !== null || encoding !== null) needAtOnce(body, memory, isLarge);
    await receiveBody(body, response, owner, (piece) => {
      decodedBytes += piece.length;
      consume?.(piece);
      bytes.add(piece);
      if (isChecked || bytes.sizeBytes <= LARGE_BODY_BYTES) return null;
      isChecked = true;
      return owner?.look?.() ?? null;
    });
    const whole = bytes.finish();
    memory?.need(whole.length);
    return { bytes: whole, release: () => memory?.release() };
  } catch (error) {
    bytes.discard();
    memory?.release();
    throw error;
  }
}

/** Takes memory before the first byte is read: for the announced size, or for a decoder. */
function needAtOnce({ announcedBytes, encoding }: OpenBody, memory: BodyMemory | null, isLarge: boolean): void {
  memory?.need(encoding === null ? announcedBytes! : decoderBytes(encoding, 0), isLarge);
}

/** A body that may be read, because its request head was accepted. */
export interface OpenBody {
  readonly request: IncomingMessage;
  readonly limits: BodyLimits;
  readonly announcedBytes: number | null;
  readonly encoding: BodyEncoding | null;
}

/** Checks the request head before the body is read. @throws GatewayError `unsupportedMediaType`, `requestTooLarge` */
export function openBody(request: IncomingMessage, limits: BodyLimits): OpenBody {
  const { 'content-encoding': encoding, 'content-length': length } = request.headers;
  const isEncoded = encoding !== undefined && encoding !== 'identity';
  const announcedBytes = length === undefined ? null : Number(length);
  const open = { request, limits, announcedBytes, encoding: isEncoded ? encodingNamed(encoding) : null };
  if (announcedBytes !== null && announcedBytes > limits.sizeBytesMax) throw tooLarge(limits);
  return open;
}

/**
 * Takes decoded bytes. If it returns a promise, the client is paused until it resolves. If it fails, the body is refused with its error.
 */
type BodyTaker = (piece: Buffer) => Promise<void> | null;

/** Maximum number of bodies that are decoded at the same time, each one in a thread of Node's pool. */
const DECODING_AT_ONCE = 2;
const decodingSlots = new FairSlots({ slotsMax: DECODING_AT_ONCE });

/** A received chunk is garbage as soon as it was copied or written. */
const noteGarbage = createYoungGarbageCollector();

/**
 * Receives a body, after `100 Continue` if the client waits for it. Once the returned promise has settled, `take` is not called again, and
 * no more of a refused body is read. @throws GatewayError as `readBody` does, and errors of `take`
 */
export async function receiveBody(
  body: OpenBody,
  response: ServerResponse,
  owner: Pick<BodyOwner, 'tenant'> | null,
  take: BodyTaker,
): Promise<void> {
  const { limits, encoding } = body;
  if (encoding === null) {
    await receiveRaw(body, response, take);
    return;
  }
  let sizeBytes = 0;
  const decoder = new BodyDecoder(encoding, decodingSlots, owner?.tenant.accountId ?? '', (piece) => {
    sizeBytes += piece.length;
    if (sizeBytes > limits.sizeBytesMax) throw tooLarge(limits);
    noteGarbage(piece.length);
    return take(piece);
  });
  try {
    await receiveRaw(body, response, (chunk) => decoder.write(chunk));
    await decoder.end();
  } finally {
    decoder.destroy();
  }
}

/** Receives a body like `receiveBody`, without decoding it. */
function receiveRaw(body: OpenBody, response: ServerResponse, take: BodyTaker): Promise<void> {
  const { request, limits } = body;
  if (awaitingContinue.delete(request)) response.writeContinue();
  if (hasCompleteBody(body)) return takeAtOnce(request, limits, take);
  const { nowMs = () => performance.now() } = limits;
  return new Promise((resolve, reject) => {
    let sizeBytes = 0;
    let hasEnded = false;
    let isOver = false;
    const pace = new UploadPace(limits.idleTimeoutMs, nowMs());
    let timer = setTimeout(onPaceDue, pace.leftMs(nowMs()));

    function stop(): void {
      isOver = true;
      clearTimeout(timer);
      request.off('data', onChunk).off('end', onEnd).off('aborted', onAborted).off('error', onAborted);
    }
    function fail(error: unknown): void {
      if (isOver) return;
      stop();
      request.pause();
      reject(error);
    }
    function onChunk(chunk: Buffer): void {
      sizeBytes += chunk.length;
      if (sizeBytes > limits.sizeBytesMax) {
        fail(tooLarge(limits));
        return;
      }
      pace.arrived(chunk.length, nowMs());
      noteGarbage(chunk.length);
      try {
        const taken = take(chunk);
        if (taken !== null) pauseFor(taken);
      } catch (error) {
        fail(error);
      }
    }
    function pauseFor(taken: Promise<void>): void {
      pace.paused(nowMs());
      request.pause();
      taken.then(() => {
        if (isOver) return;
        pace.resumed(nowMs());
        if (hasEnded) finish();
        else request.resume();
      }, fail);
    }
    function onEnd(): void {
      // A paused stream still reports its end if its last chunk was read before.
      if (pace.isPaused) hasEnded = true;
      else finish();
    }
    function finish(): void {
      stop();
      resolve();
    }
    function onPaceDue(): void {
      const leftMs = pace.leftMs(nowMs());
      if (leftMs > 0 || pace.isPaused) {
        // The client was paused in the meantime. That time does not count.
        timer = setTimeout(onPaceDue, Math.max(Math.ceil(leftMs), PACE_CHECK_MS_MIN));
        return;
      }
      // The connection must be closed. Otherwise the rest of the body would be read as the next request.
      fail(new GatewayError('requestTimeout', { headers: { connection: 'close' } }));
    }
    function onAborted(): void {
      fail(new GatewayError('malformedHttp'));
    }

    // A destroyed request gives neither bytes nor an event, also if its body has arrived completely.
    if (request.destroyed) {
      onAborted();
      return;
    }
    request.on('aborted', onAborted).on('error', onAborted).on('data', onChunk).on('end', onEnd);
  });
}

/** Whether a body has arrived completely, and nothing of it has been read. */
function hasCompleteBody({ request, announcedBytes }: OpenBody): boolean {
  if (request.destroyed || request.readableFlowing !== null) return false;
  return request.complete || (announcedBytes !== null && announcedBytes === request.readableLength);
}

/** Takes a body that has arrived completely. It needs no timer. */
async function takeAtOnce(request: IncomingMessage, limits: BodyLimits, take: BodyTaker): Promise<void> {
  const bytes = takeReceived(request, limits);
  if (bytes !== null) await take(bytes);
}

/** Returns the bytes that have arrived; `null`: none. */
function takeReceived(request: IncomingMessage, limits: BodyLimits): Buffer | null {
  const bytes = request.read() as Buffer | null;
  if (bytes === null) return null;
  if (bytes.length > limits.sizeBytesMax) throw tooLarge(limits);
  noteGarbage(bytes.length);
  return bytes;
}

/** Minimum delay of the next check, because timers may fire early. */
const PACE_CHECK_MS_MIN = 10;

function tooLarge({ sizeBytesMax, tooLarge: other }: BodyLimits): GatewayError {
  return new GatewayError(other?.kind ?? 'requestTooLarge', {
    message: other?.message ?? `The body is larger than the ${sizeBytesMax} bytes that this address accepts.`,
    // The rest of the body is not read, so no other request can use the connection.
    headers: { connection: 'close' },
  });
}
