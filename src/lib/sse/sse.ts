import { createYoungGarbageCollector } from '../young-garbage.ts';
import { CR, LF, Lines } from './event-fields.ts';

/** Receives the events of a stream: all of its bytes, unchanged and in order. */
export interface SseSink {
  /** Receives one or more complete events with their empty lines. The bytes are valid only during the call. */
  events(bytes: Buffer): void;
  /** Receives a chunk of an event that is too large to be kept. Its chunks arrive in order, without other events in between. */
  oversize(bytes: Buffer, isLast: boolean): void;
  /** Whether a large event must be kept, judged by its beginning. Absent: large events are never kept. */
  isNeededWhole?(beginning: Buffer): boolean;
}

const NO_BYTES = Buffer.alloc(0);

/** Maximum size of an event that is always kept until complete. A larger one is passed on in chunks, unless the sink needs all of it. */
export const EVENT_BYTES_MAX = 1024 * 1024;
/** Maximum size of an event that the sink needs as a whole: a terminal event can repeat the output, or contain an image. */
export const NEEDED_EVENT_BYTES_MAX = 64 * 1024 * 1024;
/** Size of the blocks of an event, which is not copied as it grows. Sockets use buffers of the same size, so both reuse memory. */
const BLOCK_BYTES = 64 * 1024;
/** Maximum size of an event that is joined in the heap. A larger one gets a memory mapping of its own. */
const UNMAPPED_BYTES_MAX = 16 * 1024 * 1024;
/** Minimum size of a mapping, of which only written pages are resident. glibc takes up to 32 MiB from its heap, which stays resident. */
const MAPPED_BYTES_MIN = 33 * 1024 * 1024;
/** Frees chunks that were copied into blocks, and events that were joined. */
const collectCopied = createYoungGarbageCollector();
/** Size of the beginning of an event that `isNeededWhole` gets. */
const BEGINNING_BYTES = 1024;

/** Splits a `text/event-stream` into events without changing a byte. Chunks may be split anywhere, even within a CRLF or a character. */
export class SseSplitter {
  readonly #sink: SseSink;
  readonly #eventBytesMax: number;
  /** An incomplete event: full blocks, then `#lastBytes` bytes of `#lastBlock`. A list of tiny chunks would take 100 times the memory. */
  #blocks: Buffer[] = [];
  #lastBlock: Buffer = NO_BYTES;
  #lastBytes = 0;
  /** Size of the incomplete event, without unused capacity. */
  keptBytes = 0;
  /** Maximum size of the current event. It is greater if the sink needs the event as a whole. */
  #keptBytesMax: number;
  #isOversize = false;
  #isLineEmpty = true;
  #isAfterCr = false;
  /** Whether the last CR ended an empty line. An LF after it then belongs to the same event. */
  #isCrBoundary = false;

  constructor(sink: SseSink, eventBytesMax = EVENT_BYTES_MAX) {
    this.#sink = sink;
    this.#eventBytesMax = eventBytesMax;
    this.#keptBytesMax = eventBytesMax;
  }

  push(chunk: Buffer): void {
    const isAtEmptyLine = this.#isLineEmpty && !(this.#isAfterCr && chunk[0] === LF);
    const wholeEnd = this.#lastBoundary(chunk);
    if (wholeEnd > 0) {
      const whole = wholeEnd === chunk.length ? chunk : chunk.subarray(0, wholeEnd);
      if (this.#isOversize) {
        // Ends the chunk where the large event ends, so that the sink gets the complete events after it.
        const giantEnd = eventEnds(whole, isAtEmptyLine)[0]!;
        this.#sink.oversize(whole.subarray(0, giantEnd), true);
        this.#isOversize = false;
        if (giantEnd < wholeEnd) this.#sink.events(whole.subarray(giantEnd));
      } else if (this.keptBytes > 0) {
        this.#append(whole);
        this.#sink.events(this.#takeKept());
      } else {
        this.#sink.events(whole);
      }
    }
    if (wholeEnd < chunk.length) this.#keep(chunk.subarray(wholeEnd));
  }

  /** Whether the bytes that were passed on end with a complete event. The caller can then insert something. */
  get isBetweenEvents(): boolean {
    return !this.#isOversize;
  }

  /** Ends the stream. Returns the bytes of an incomplete event, or `null`. */
  takeRest(): Buffer | null {
    return this.keptBytes === 0 ? null : this.#takeKept();
  }

  #takeKept(): Buffer {
    const last = this.#lastBlock.subarray(0, this.#lastBytes);
    const taken = this.#blocks.length === 0 ? last : joined([...this.#blocks, last], this.keptBytes);
    this.#blocks = [];
    this.#lastBlock = NO_BYTES;
    this.#lastBytes = 0;
    this.keptBytes = 0;
    this.#keptBytesMax = this.#eventBytesMax;
    return taken;
  }

  #append(bytes: Buffer): void {
    if (this.keptBytes === 0) {
      // The subarray has no free capacity, so nothing is ever written into the chunk.
      this.#lastBlock = bytes;
      this.#lastBytes = bytes.length;
    } else {
      this.#makeRoom(bytes.length);
      for (let at = 0; at < bytes.length; ) {
        if (this.#lastBytes === this.#lastBlock.length) this.#addBlock();
        const copied = bytes.copy(this.#lastBlock, this.#lastBytes, at);
        this.#lastBytes += copied;
        at += copied;
      }
      if (this.#blocks.length > 0) collectCopied(bytes.length);
    }
    this.keptBytes += bytes.length;
  }

  /** Enlarges the last block, up to the size of a block. */
  #makeRoom(more: number): void {
    const kept = this.#lastBytes;
    const needed = Math.min(kept + more, BLOCK_BYTES);
    if (needed <= this.#lastBlock.length) return;
    const size = Math.max(needed, Math.min(2 * kept, this.#keptBytesMax, BLOCK_BYTES));
    const grown = Buffer.allocUnsafeSlow(size);
    this.#lastBlock.copy(grown, 0, 0, kept);
    this.#lastBlock = grown;
  }

  #addBlock(): void {
    this.#blocks.push(this.#lastBlock);
    this.#lastBlock = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#lastBytes = 0;
  }

  #keep(tail: Buffer): void {
    if (this.#isOversize) {
      this.#sink.oversize(tail, false);
      return;
    }
    this.#append(tail);
    if (this.keptBytes <= this.#keptBytesMax) return;
    if (this.#keptBytesMax === this.#eventBytesMax && this.#sink.isNeededWhole?.(this.#beginning())) {
      this.#keptBytesMax = NEEDED_EVENT_BYTES_MAX;
      return;
    }
    this.#isOversize = true;
    this.#sink.oversize(this.#takeKept(), false);
  }

  #beginning(): Buffer {
    const first = this.#blocks[0] ?? this.#lastBlock;
    return first.subarray(0, Math.min(this.keptBytes, BEGINNING_BYTES));
  }

  /** Returns the offset after the last empty line in the chunk; 0: none. Updates the state for the next chunk. */
  #lastBoundary(chunk: Buffer): number {
    const { length } = chunk;
    if (length === 0) return 0;
    if (chunk[length - 1] === LF && chunk[length - 2] === LF) {
      this.#isLineEmpty = true;
      this.#isAfterCr = false;
      this.#isCrBoundary = false;
      return length;
    }
    // An LF that completes a CRLF belongs to the line before, which may have been empty.
    const start = this.#isAfterCr && chunk[0] === LF ? 1 : 0;
    let isEmptyLine = this.#isCrBoundary;
    let boundary = isEmptyLine ? start : 0;
    const lines = new Lines(chunk, start);
    while (lines.advance()) {
      isEmptyLine = this.#isLineEmpty && lines.start === lines.end;
      this.#isLineEmpty = lines.end < length;
      if (isEmptyLine) boundary = lines.next;
    }
    this.#isAfterCr = chunk[length - 1] === CR;
    this.#isCrBoundary = this.#isAfterCr && isEmptyLine;
    return boundary;
  }
}

/** Joins blocks, and frees all of them except the first, which can be a chunk of the caller. */
function joined(blocks: readonly Buffer[], sizeBytes: number): Buffer {
  collectCopied(sizeBytes);
  const isMapped = sizeBytes > UNMAPPED_BYTES_MAX;
  const whole = Buffer.allocUnsafeSlow(isMapped ? Math.max(sizeBytes, MAPPED_BYTES_MIN) : sizeBytes);
  let at = 0;
  for (const [index, block] of blocks.entries()) {
    at += block.copy(whole, at);
    if (index > 0) (block.buffer as ArrayBuffer).transfer(0);
  }
  return whole.subarray(0, sizeBytes);
}

/** Splits complete events. Elements of their own are an empty line between events, and an LF whose CR ended the previous events. */
export function* eachEvent(run: Buffer): Generator<Buffer> {
  let start = 0;
  for (const end of eventEnds(run, true)) {
    yield run.subarray(start, end);
    start = end;
  }
  if (start < run.length) yield run.subarray(start);
}

/** Returns the offsets after each empty line. `isAtEmptyLine`: the bytes begin at the start of a line. */
function eventEnds(bytes: Buffer, isAtEmptyLine: boolean): number[] {
  const lines = new Lines(bytes);
  const ends: number[] = [];
  for (let isLineEmpty = isAtEmptyLine; lines.advance(); isLineEmpty = true) {
    if (isLineEmpty && lines.start === lines.end) ends.push(lines.next);
  }
  return ends;
}
