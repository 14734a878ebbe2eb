import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import type { ErrorKind } from '../errors/catalogue.ts';
import { GatewayError, invalidRequest } from '../errors/gateway-error.ts';
import { parseParameters } from '../lib/header-parameters.ts';

export interface BodyLimits {
  /** Of the decoded body. */
  readonly sizeBytesMax: number;
  /** What a larger body is refused with, where the limit is not the gateway's own. Absent: `requestTooLarge`. */
  readonly tooLarge?: { readonly kind: ErrorKind; readonly message: string };
  /** An upload may take any time in all, but in this time the next 8 KiB of it, or its end, must arrive. */
  readonly idleTimeoutMs: number;
}

/** What counts as progress, as sent: some 270 bytes a second by default. One byte now and then is none. */
const PROGRESS_BYTES_MIN = 8 * 1024;

/** Requests that wait for `100 Continue`; answered only once the gateway wants the body. */
const awaitingContinue = new WeakSet<IncomingMessage>();

export function markAwaitingContinue(request: IncomingMessage): void {
  awaitingContinue.add(request);
}

/** Whether the client holds its body back until it is asked for, and has not been. */
export function isAwaitingContinue(request: IncomingMessage): boolean {
  return awaitingContinue.has(request);
}

/** @throws GatewayError `unsupportedMediaType` unless the content type is JSON. */
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

/** Whether nothing says otherwise: neither another charset, nor `charset*`, which some readers prefer to it. */
function isUtf8(parameters: ReadonlyMap<string, string>): boolean {
  for (const name of parameters.keys()) if (name.includes('*')) return false;
  return /^utf-?8$/i.test(parameters.get('charset') ?? 'utf-8');
}

/**
 * Reads a body whole, decoded. Nothing beyond the limit is kept, and a length that is announced beyond it is refused
 * before a byte is read.
 *
 * @throws GatewayError `requestTooLarge`, `unsupportedMediaType` for an unknown encoding, `invalidRequest` for a broken
 * one, `requestTimeout`, or `malformedHttp` where the body ends early.
 */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
): Promise<Buffer> {
  const body = openBody(request, limits);
  const chunks: Buffer[] = [];
  await receiveBody(body, response, (chunk) => {
    chunks.push(chunk);
    return null;
  });
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** A body that may be received: nothing in the request's head speaks against it. */
export interface OpenBody {
  readonly request: IncomingMessage;
  readonly limits: BodyLimits;
  /** `null` where the body is sent as it is. */
  readonly createDecoder: (() => Transform) | null;
}

/**
 * Judges a body by its head, before a byte of it is asked for.
 *
 * @throws GatewayError `unsupportedMediaType` for an unknown encoding, `requestTooLarge` for an announced length.
 */
export function openBody(request: IncomingMessage, limits: BodyLimits): OpenBody {
  const encoding = request.headers['content-encoding'];
  const createDecoder = encoding === undefined || encoding === 'identity' ? null : decoderFor(encoding);
  if (Number(request.headers['content-length'] ?? 0) > limits.sizeBytesMax) throw tooLarge(limits);
  return { request, limits, createDecoder };
}

function decoderFor(encoding: string): () => Transform {
  switch (encoding.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip;
    case 'deflate':
      return createInflate;
    case 'br':
      return createBrotliDecompress;
    case 'zstd':
      return createZstdDecompress;
    default:
      throw new GatewayError('unsupportedMediaType', {
        message: 'The Content-Encoding is not known here; send gzip, deflate, br, zstd or no encoding.',
      });
  }
}

/**
 * Takes the next decoded bytes. What it throws refuses the body. Where it answers a promise, the client is held up until
 * that resolves, and what it rejects with refuses the body.
 */
export type BodyTaker = (chunk: Buffer) => Promise<void> | null;

/**
 * Asks for a body where the client waits to be asked, and gives it to `take` in order. When the returned promise is
 * settled, no more is given, and of a body that was refused no more is read.
 *
 * @throws GatewayError as `readBody` does, and whatever `take` throws.
 */
export function receiveBody(
  { request, limits, createDecoder }: OpenBody,
  response: ServerResponse,
  take: BodyTaker,
): Promise<void> {
  if (awaitingContinue.delete(request)) response.writeContinue();
  return new Promise((resolve, reject) => {
    const decoder = createDecoder === null ? null : createDecoder();
    const source = decoder ?? request;
    let sizeBytes = 0;
    let arrivedBytes = 0;
    let isHeldUp = false;
    let isOver = false;
    const idleTimer = setTimeout(onIdle, limits.idleTimeoutMs);

    function stop(): void {
      isOver = true;
      clearTimeout(idleTimer);
      request.off('data', onProgress).off('aborted', onAborted).off('error', onAborted);
      if (decoder === null) {
        request.off('end', onEnd);
      } else {
        request.unpipe(decoder);
        decoder.off('data', onDecoded).off('end', onEnd).off('error', onBroken);
        decoder.on('error', () => undefined);
        decoder.destroy();
      }
    }
    function fail(error: unknown): void {
      if (isOver) return;
      stop();
      request.pause();
      reject(error);
    }
    function receive(chunk: Buffer): void {
      sizeBytes += chunk.length;
      if (sizeBytes > limits.sizeBytesMax) {
        fail(tooLarge(limits));
        return;
      }
      try {
        const taken = take(chunk);
        if (taken !== null) holdUp(taken);
      } catch (error) {
        fail(error);
      }
    }
    function holdUp(taken: Promise<void>): void {
      isHeldUp = true;
      source.pause();
      taken.then(() => {
        isHeldUp = false;
        if (isOver) return;
        idleTimer.refresh();
        source.resume();
      }, fail);
    }
    function onProgress(chunk: Buffer): void {
      arrivedBytes += chunk.length;
      if (arrivedBytes >= PROGRESS_BYTES_MIN) {
        arrivedBytes = 0;
        idleTimer.refresh();
      }
      if (decoder === null) receive(chunk);
    }
    function onDecoded(chunk: Buffer): void {
      receive(chunk);
    }
    function onEnd(): void {
      stop();
      resolve();
    }
    function onIdle(): void {
      // It is not the client that stands still.
      if (isHeldUp) {
        idleTimer.refresh();
        return;
      }
      // What comes later, if anything does, would be taken for the next request.
      fail(new GatewayError('requestTimeout', { headers: { connection: 'close' } }));
    }
    function onAborted(): void {
      fail(new GatewayError('malformedHttp'));
    }
    function onBroken(): void {
      fail(invalidRequest('The body does not decode as its Content-Encoding says.'));
    }

    if (request.destroyed && !request.complete) {
      onAborted();
      return;
    }
    request.on('aborted', onAborted).on('error', onAborted).on('data', onProgress);
    if (decoder === null) {
      request.on('end', onEnd);
    } else {
      decoder.on('data', onDecoded).on('end', onEnd).on('error', onBroken);
      request.pipe(decoder);
    }
  });
}

function tooLarge({ sizeBytesMax, tooLarge: other }: BodyLimits): GatewayError {
  return new GatewayError(other?.kind ?? 'requestTooLarge', {
    message: other?.message ?? `The body is larger than the ${sizeBytesMax} bytes that this address accepts.`,
    // The rest of the body is not read, so the connection cannot serve another request.
    headers: { connection: 'close' },
  });
}
