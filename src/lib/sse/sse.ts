import { createYoungGarbageCollector } from '../young-garbage.ts';
import { CR, LF, Lines } from './event-fields.ts';

/** Receives the events of a stream. All bytes that it gets, in order, are the bytes of the stream. */
export interface SseSink {
  /** One or more complete events with their empty lines. The bytes are valid only during the call. */
  events(bytes: Buffer): void;
  /** A part of an event that is too large to be buffered. Its parts follow each other, up to the last one. */
  oversize(bytes: Buffer, isLast: boolean): void;
  /** Whether a large event must be buffered nevertheless, by its beginning. Absent: never. */
  isNeededWhole?(beginning: Buffer): boolean;
}

const NO_BYTES = Buffer.alloc(0);

/** A larger event is passed on in parts, unless the sink needs it as a whole. */
export const EVENT_BYTES_MAX = 1024 * 1024;
/** The largest event that is buffered if the sink needs it: a terminal event repeats the output, or contains an image. */
export const NEEDED_EVENT_BYTES_MAX = 64 * 1024 * 1024;
/**
 * A larger event is buffered in blocks of this size, so that its growth leaves no copies behind. Sockets are read into buffers of the same
 * size, so that blocks and buffers reuse each other's memory in the heap of the system.
 */
const BLOCK_BYTES = 64 * 1024;
/** The blocks of a larger event are joined in a separate memory mapping. */
const UNMAPPED_BYTES_MAX = 16 * 1024 * 1024;
/** glibc allocates up to 32 MiB from its heap, whose holes stay resident. It maps larger sizes, of which only written pages are resident. */
const MAPPED_BYTES_MIN = 33 * 1024 * 1024;
/** Collects chunks that were copied into blocks, and joined events that are no longer needed. */
const collectCopied = createYoungGarbageCollector();
/** The size of the beginning that `isNeededWhole` gets. */
const BEGINNING_BYTES = 1024;

/**
 * Splits a `text/event-stream` into events without changing a byte (WHATWG, "Parsing an event stream"): lines end with LF,
 * CR or CRLF, and an event ends with an empty line. Chunks may be split anywhere, even within a CRLF or a character.
 */
export class SseSplitter {
  readonly #sink: SseSink;
  readonly #eventBytesMax: number;
  /**
   * The beginning of an incomplete event: full blocks, and then `#lastBytes` of the last block. Not a list of chunks: if a provider sends
   * single bytes, a list takes a hundred times their size.
   */
  #blocks: Buffer[] = [];
  #lastBlock: Buffer = NO_BYTES;
  #lastBytes = 0;
  /** The size of the incomplete event, without unused capacity. */
  keptBytes = 0;
  /** The limit for the current event; raised if the sink needs it. */
  #keptBytesMax: number;
  #isOversize = false;
  #isLineEmpty = true;
  #isAfterCr = false;
  /** Whether that CR ended an empty line, so that a following LF still belongs to the event. */
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
        // Split exactly at the end of the large event, so that the sink gets the complete events that follow it in the chunk.
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

  /** Whether the bytes passed on so far end with a complete event, so that the caller may insert something. */
  get isBetweenEvents(): boolean {
    return !this.#isOversize;
  }

  /** Ends the stream. Returns the buffered bytes of an incomplete event; `null` if there are none. */
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
      // A subarray of the chunk, without free capacity, so that nothing is written into the chunk.
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

  /** Grows the last block for this number of bytes, up to the size of a block. */
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

  /** The first bytes of the buffered event. */
  #beginning(): Buffer {
    const first = this.#blocks[0] ?? this.#lastBlock;
    return first.subarray(0, Math.min(this.keptBytes, BEGINNING_BYTES));
  }

  /** The offset after the last empty line of the chunk; 0 if there is none. Updates the line state for the next chunk. */
  #lastBoundary(chunk: Buffer): number {
    const { length } = chunk;
    if (length === 0) return 0;
    if (chunk[length - 1] === LF && chunk[length - 2] === LF) {
      this.#isLineEmpty = true;
      this.#isAfterCr = false;
      this.#isCrBoundary = false;
      return length;
    }
    // A LF that completes a CRLF belongs to the previous line, which may have been empty.
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

/** Joins blocks. Frees all but the first one, which may be a chunk, because garbage collection would take longer. */
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

/**
 * Splits complete events into single ones. An empty line between two events, or a LF whose CR ended the previous events,
 * is returned as an element of its own.
 */
export function* eachEvent(run: Buffer): Generator<Buffer> {
  let start = 0;
  for (const end of eventEnds(run, true)) {
    yield run.subarray(start, end);
    start = end;
  }
  if (start < run.length) yield run.subarray(start);
}

/** The offsets after each empty line. `isAtEmptyLine`: the first line has no bytes before these. */
function eventEnds(bytes: Buffer, isAtEmptyLine: boolean): number[] {
  const lines = new Lines(bytes);
  const ends: number[] = [];
  for (let isLineEmpty = isAtEmptyLine; lines.advance(); isLineEmpty = true) {
    if (isLineEmpty && lines.start === lines.end) ends.push(lines.next);
  }
  return ends;
}
