import type { Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { GatewayError, invalidRequest } from '../errors/gateway-error.ts';
import type { FairSlots } from '../lib/fair/fair-slots.ts';

export interface BodyEncoding {
  readonly create: () => Transform;
  /** Maximum size of the decoder's window, to which back-references can refer, in decoded bytes. */
  readonly windowBytesMax: number;
}

const PIECE_BYTES = 64 * 1024;
const PIECES = { chunkSize: PIECE_BYTES, readableHighWaterMark: PIECE_BYTES };
/** The maximum that RFC 9659 allows. */
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

/** Returns the encoding of this name. @throws GatewayError `unsupportedMediaType` for an unknown one */
export function encodingNamed(name: string): BodyEncoding {
  const encoding = ENCODINGS.get(name.trim().toLowerCase());
  if (encoding !== undefined) return encoding;
  throw new GatewayError('unsupportedMediaType', {
    message: 'The Content-Encoding is not supported. Send gzip, deflate, br, zstd or no encoding.',
  });
}

/** Memory of a decoder without its window: its tables and buffers. */
const DECODER_BYTES = 256 * 1024;

/** Returns the memory of a decoder for at most `decodedBytes`, which limit its window. */
export function decoderBytes({ windowBytesMax }: BodyEncoding, decodedBytes: number): number {
  return DECODER_BYTES + Math.min(decodedBytes, windowBytesMax);
}

/** After this many decoded bytes, a body gives its slot to the next one. Decoding them takes about a millisecond of another thread. */
const SLOT_BYTES = 256 * 1024;

/**
 * Decodes one body. After every 256 KiB, it gives its slot to the next body, so that a few bytes that decode to gigabytes do not delay
 * others. It has a slot only while it has bytes to decode.
 */
export class BodyDecoder {
  readonly #stream: Transform;
  readonly #slots: FairSlots;
  readonly #accountId: string;
  readonly #take: (piece: Buffer) => Promise<void> | null;
  #failure: unknown = null;
  #hasEnded = false;
  #wake: () => void = () => undefined;

  /** @param take gets the decoded bytes in order; if it returns a promise, decoding waits for this; if it throws, decoding stops */
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
      .on('error', () => this.#fail(invalidRequest('The body cannot be decoded with its Content-Encoding.')));
  }

  /** Decodes bytes. Resolves when `take` has got them. @throws GatewayError `invalidRequest` if decoding fails, and errors of `take` */
  write(bytes: Buffer): Promise<void> {
    return this.#work((written) => this.#stream.write(bytes, written));
  }

  /** Decodes what is left. @throws as `write` does, and if the body is truncated */
  end(): Promise<void> {
    return this.#work(() => this.#stream.end());
  }

  destroy(): void {
    this.#fail(new Error('the decoder was destroyed'));
    this.#stream.destroy();
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#wake();
  }

  async #work(begin: (done: () => void) => void): Promise<void> {
    // Bytes after the end of the compressed data are ignored.
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
        if (taken === null && decodedBytes < SLOT_BYTES) continue;
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
