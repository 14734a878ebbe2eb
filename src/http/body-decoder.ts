import type { Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { GatewayError, invalidRequest } from '../errors/gateway-error.ts';
import type { FairSlots } from '../lib/fair/fair-slots.ts';

/** An encoding of bodies. */
export interface BodyEncoding {
  readonly create: () => Transform;
  /** Decoded bytes that the decoder keeps at most, to repeat them. */
  readonly windowBytesMax: number;
}

const PIECE_BYTES = 64 * 1024;
const PIECES = { chunkSize: PIECE_BYTES, readableHighWaterMark: PIECE_BYTES };
/** RFC 9659: the largest window that a sender may ask of a decoder of this encoding. */
const ZSTD_WINDOW_LOG_MAX = 23;
const ZSTD = { ...PIECES, params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } };

const GZIP: BodyEncoding = { create: () => createGunzip(PIECES), windowBytesMax: 32 * 1024 };
const ENCODINGS: ReadonlyMap<string, BodyEncoding> = new Map([
  ['gzip', GZIP],
  ['x-gzip', GZIP],
  ['deflate', { create: () => createInflate(PIECES), windowBytesMax: 32 * 1024 }],
  ['br', { create: () => createBrotliDecompress(PIECES), windowBytesMax: 2 ** 24 }],
  ['zstd', { create: () => createZstdDecompress(ZSTD), windowBytesMax: 2 ** ZSTD_WINDOW_LOG_MAX }],
]);

/** @throws GatewayError `unsupportedMediaType` if the encoding is not known. */
export function encodingNamed(name: string): BodyEncoding {
  const encoding = ENCODINGS.get(name.trim().toLowerCase());
  if (encoding !== undefined) return encoding;
  throw new GatewayError('unsupportedMediaType', {
    message: 'The Content-Encoding is not known here; send gzip, deflate, br, zstd or no encoding.',
  });
}

/** The memory of a decoder besides its window: its tables, and its input and output buffers. */
const DECODER_BYTES = 256 * 1024;

/** The memory of a decoder that has decoded so much. Its window fills with what it decodes. */
export function decoderBytes({ windowBytesMax }: BodyEncoding, decodedBytes: number): number {
  return DECODER_BYTES + Math.min(decodedBytes, windowBytesMax);
}

/** The bytes that are decoded in one turn: about a millisecond of another thread. */
const TURN_BYTES = 256 * 1024;

/**
 * Decodes one body. It works in turns, so that a few bytes that decode to gigabytes do not delay other bodies, and it
 * takes a turn only if it has something to do: a client that sends slowly occupies no turn.
 */
export class BodyDecoder {
  readonly #stream: Transform;
  readonly #slots: FairSlots;
  readonly #accountId: string;
  readonly #take: (piece: Buffer) => Promise<void> | null;
  #failure: unknown = null;
  #hasEnded = false;
  #wake: () => void = () => undefined;

  /** `take` is given what was decoded, in order; a promise is waited for, and what it throws ends the work. */
  constructor(
    encoding: BodyEncoding,
    slots: FairSlots,
    accountId: string,
    take: (piece: Buffer) => Promise<void> | null,
  ) {
    this.#slots = slots;
    this.#accountId = accountId;
    this.#take = take;
    this.#stream = encoding.create();
    this.#stream
      .on('readable', () => this.#wake())
      .on('end', () => {
        this.#hasEnded = true;
        this.#wake();
      })
      .on('error', () => this.#fail(invalidRequest('The body does not decode as its Content-Encoding says.')));
  }

  /**
   * Resolves when everything that the bytes decode to has been taken.
   *
   * @throws GatewayError `invalidRequest` if they do not decode, and whatever `take` throws.
   */
  write(bytes: Buffer): Promise<void> {
    return this.#work((written) => this.#stream.write(bytes, written));
  }

  /** There are no more bytes. Resolves and throws as `write` does, and throws if the body is cut off. */
  end(): Promise<void> {
    return this.#work(() => this.#stream.end());
  }

  /** Stops. Promises that are pending reject. */
  destroy(): void {
    this.#fail(new Error('the decoder was destroyed'));
    this.#stream.destroy();
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#wake();
  }

  async #work(begin: (done: () => void) => void): Promise<void> {
    // Bytes behind the end of the encoded data are not read.
    if (this.#hasEnded) return;
    let isDone = false;
    await this.#slots.enter(this.#accountId);
    try {
      if (this.#failure !== null) throw this.#failure;
      begin(() => {
        isDone = true;
        this.#wake();
      });
      let decodedBytes = 0;
      for (;;) {
        if (this.#failure !== null) throw this.#failure;
        const piece = this.#stream.read() as Buffer | null;
        if (piece === null) {
          if (isDone || this.#hasEnded) return;
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          continue;
        }
        const taken = this.#take(piece);
        decodedBytes += piece.length;
        if (taken === null && decodedBytes < TURN_BYTES) continue;
        decodedBytes = 0;
        this.#slots.leave(this.#accountId);
        try {
          await taken;
        } finally {
          await this.#slots.enter(this.#accountId);
        }
      }
    } finally {
      this.#slots.leave(this.#accountId);
    }
  }
}
