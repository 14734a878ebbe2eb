import { createYoungGarbageCollector } from '../young-garbage.ts';
import { CR, LF, Lines } from './event-fields.ts';

/**
 * Cuts a `text/event-stream` into events without changing a byte (WHATWG, "Parsing an event stream"): lines end with LF,
 * CR or CRLF, an event ends with an empty line, and chunks may be cut anywhere, also between the two bytes of a CRLF or
 * inside a character. The bytes given to the sink, put together, are the bytes that came in.
 */
export interface SseSink {
  /**
   * One or more whole events, empty lines included, as one run of bytes.
   * The bytes are only valid during the call, unless the sink keeps a copy.
   */
  events(bytes: Buffer): void;
  /** A part of an event that is too large to be kept whole; the parts follow each other, up to the last one. */
  oversize(bytes: Buffer, isLast: boolean): void;
  /** Whether an event that has grown large is to be kept whole all the same, by how it begins. Absent: never. */
  isNeededWhole?(beginning: Buffer): boolean;
}

const NO_BYTES = Buffer.alloc(0);

/** An event longer than this is passed on in parts, unless the sink needs it whole. */
export const EVENT_BYTES_MAX = 1024 * 1024;
/**
 * The longest event that is kept whole when it is needed: a terminal event repeats the output, or contains an image.
 */
export const NEEDED_EVENT_BYTES_MAX = 64 * 1024 * 1024;
/**
 * An event is kept in blocks of this size once it is larger, so that its growth leaves no copies behind. Sockets are read in buffers of the
 * same size, so that each fills the holes that the other leaves in the heap of the system.
 */
const BLOCK_BYTES = 64 * 1024;
/** A larger event is joined in a mapping of its own. */
const UNMAPPED_BYTES_MAX = 16 * 1024 * 1024;
/** glibc takes up to 32 MiB from its heap, whose holes stay resident. It maps more, of which only written pages are resident. */
const MAPPED_BYTES_MIN = 33 * 1024 * 1024;
/** Collects the chunks that were copied into blocks, and joined events that are no longer needed. */
const collectCopied = createYoungGarbageCollector();
/** The bytes at the beginning of an event that identify it. */
const BEGINNING_BYTES = 1024;

export class SseSplitter {
  readonly #sink: SseSink;
  readonly #eventBytesMax: number;
  /**
   * The beginning of an event whose end has not arrived: full blocks, and behind them the first bytes of the last one. Blocks, not a list of
   * pieces: if a provider sends single bytes, a list would take a hundred times their size.
   */
  #blocks: Buffer[] = [];
  #lastBlock: Buffer = NO_BYTES;
  #lastBytes = 0;
  /** The bytes of an incomplete event, without unused capacity. */
  keptBytes = 0;
  /** The limit for the event that has begun; raised once the event proves to be needed. */
  #keptBytesMax: number;
  #isOversize = false;
  #isLineEmpty = true;
  #isAfterCr = false;
  /** Whether that CR ended an empty line, so that a line feed behind it still belongs to the event before. */
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
        // Cut exactly where the giant ends: the sink must see events that share a chunk with its end.
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

  /** Whether what was given out so far ends with an event, so that something else may stand between it and the next. */
  get isBetweenEvents(): boolean {
    return !this.#isOversize;
  }

  /** The stream is over: returns the bytes of an event that lacks its empty line and has not been passed on. */
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
      // A part of the chunk, and full: what is appended to it is never written into the chunk.
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

  /** Makes the last block larger for this number of bytes, up to the size of a block. */
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

  /** The first bytes of the event that is being kept. */
  #beginning(): Buffer {
    const first = this.#blocks[0] ?? this.#lastBlock;
    return first.subarray(0, Math.min(this.keptBytes, BEGINNING_BYTES));
  }

  /** Offset behind the last empty line of the chunk, 0 if there is none. Carries the line state over to the next. */
  #lastBoundary(chunk: Buffer): number {
    const { length } = chunk;
    if (length === 0) return 0;
    if (chunk[length - 1] === LF && chunk[length - 2] === LF) {
      this.#isLineEmpty = true;
      this.#isAfterCr = false;
      this.#isCrBoundary = false;
      return length;
    }
    // The second byte of a CRLF: the line ended one byte ago. If that was an empty line, it belongs to it.
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

/** The blocks as one buffer. All but the first one, which may be a chunk, are freed, since collecting garbage would take longer. */
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
 * Cuts a run of whole events into single ones. An empty line between two events, or the line feed of a CRLF whose first
 * byte ended the run before, comes out as a piece of its own.
 */
export function* eachEvent(run: Buffer): Generator<Buffer> {
  let start = 0;
  for (const end of eventEnds(run, true)) {
    yield run.subarray(start, end);
    start = end;
  }
  if (start < run.length) yield run.subarray(start);
}

/** Offsets behind each empty line; `isAtEmptyLine`: no byte of the first line came before these bytes. */
function eventEnds(bytes: Buffer, isAtEmptyLine: boolean): number[] {
  const lines = new Lines(bytes);
  const ends: number[] = [];
  for (let isLineEmpty = isAtEmptyLine; lines.advance(); isLineEmpty = true) {
    if (isLineEmpty && lines.start === lines.end) ends.push(lines.next);
  }
  return ends;
}
