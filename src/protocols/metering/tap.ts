import { holdsData } from '../../lib/sse/event-fields.ts';
import { eachEvent, type SseSink, SseSplitter } from '../../lib/sse/sse.ts';
import type { SignedBlocks } from '../signed-blocks.ts';
import { isDone, isWholeEvent } from './event-forms.ts';
import type { EventMeaning, StreamReading } from './stream-reading.ts';
import { StreamUsage } from './stream-usage.ts';
import { WrittenText } from './written-text.ts';

export interface TapOutput {
  forward(bytes: Buffer): void;
  /** An event in which the provider says that it failed. Its words may contain what the client must not see. */
  forwardError(event: Buffer): void;
  finish(bytes: Buffer): void;
  /** As `forwardError`, of an event that ends the stream and so waits for settlement. */
  finishError(event: Buffer): void;
}

const LF = 0x0a;
const CR = 0x0d;
const DONE = Buffer.from('[DONE]');

/**
 * Reads the bytes of a provider's stream on their way to the client.
 *
 *   provider ─▶ push(chunk) ─▶ forward(bytes)     everything up to the terminal event, byte for byte
 *                          └─▶ finish(bytes)      the terminal event and what follows, to be sent after settlement
 *
 * The tap knows no sockets and no money. What it learns is in `usage`, `isComplete` and `hasError`.
 */
export class StreamTap implements SseSink {
  readonly usage: StreamUsage;
  /** Whether the provider reported an error inside the stream. */
  hasError = false;
  /** Whether an event of a response has come through; keep-alive comments and errors do not count. */
  hasBegun = false;
  /** Whether the stream has ended with nothing delivered: its first event was its end. */
  isVoid = false;
  readonly #reading: StreamReading;
  readonly #output: TapOutput;
  readonly #signed: SignedBlocks | null;
  readonly #text: WrittenText | null;
  readonly #splitter = new SseSplitter(this);
  #isTerminated = false;
  /** Within an event that passes in parts. */
  #isInLarge = false;
  /** The stream ended within an event that was not given out, or only in parts. */
  #isCut = false;
  /** The last event was given out as the provider left it, without its empty line. */
  #lacksEmptyLine = false;
  /** The run before ended with the first byte of a CRLF that was dropped; the second one goes the same way. */
  #dropsLineFeed = false;

  /** @param signed gathers the signed blocks of the stream; `null`: they are not looked for. */
  constructor(reading: StreamReading, output: TapOutput, signed: SignedBlocks | null = null) {
    this.#reading = reading;
    this.#output = output;
    this.#signed = signed;
    this.#text = reading.written === null ? null : new WrittenText(reading.written);
    this.usage = new StreamUsage(reading, this.#text, this);
  }

  push(chunk: Buffer): void {
    this.#splitter.push(chunk);
  }

  /**
   * The provider's stream has ended. An event that lacks only its empty line is given out; half an event is not, because
   * clients fail over it before they see the error that follows.
   */
  end(): void {
    const rest = this.#splitter.takeRest();
    if (rest === null) {
      this.#isCut = !this.#splitter.isBetweenEvents;
    } else if (isWholeEvent(rest)) {
      this.events(rest);
      this.#lacksEmptyLine = true;
    } else {
      this.#isCut = true;
    }
  }

  /**
   * Whether the stream reached what its protocol calls an end. Some providers leave the terminal event out; their streams
   * are complete where they end by themselves (`endedCleanly`) after everything that matters.
   */
  isComplete(endedCleanly: boolean): boolean {
    if (this.isVoid) return false;
    return this.#isTerminated || (endedCleanly && !this.hasError && !this.#isCut && this.#reading.canEndHere);
  }

  /** Whether a comment may be put into the stream here: what has been forwarded does not end inside an event. */
  get isBetweenEvents(): boolean {
    return this.#splitter.isBetweenEvents && !this.#lacksEmptyLine && !this.#isTerminated;
  }

  /** Whether an end of the output has been seen: what may follow is above all the usage. */
  get hasOutputEnd(): boolean {
    return this.#isTerminated || this.#reading.hasOutputEnd;
  }

  /** The memory of an event that has not come as a whole. */
  get memoryBytes(): number {
    return this.#splitter.keptBytes;
  }

  /** Continuation keys of a complete stream. */
  continuationKeys(): readonly string[] {
    return [...(this.#reading.continuationKeys?.() ?? []), ...(this.#signed?.keys() ?? [])];
  }

  /** Takes whole events. */
  events(bytes: Buffer): void {
    if (this.isVoid) return;
    if (this.#isTerminated) {
      this.#finishRest(bytes);
      return;
    }
    const run = this.#dropsLineFeed && bytes[0] === LF ? bytes.subarray(1) : bytes;
    this.#dropsLineFeed = false;
    if (run.length === 0) return;
    this.#signed?.add(run);
    const text = this.#text;
    if (text?.addSimilar(run)) {
      this.#output.forward(run);
      return;
    }
    // An end that comes first is one in every protocol.
    if (this.#reading.matters(run) || (!this.hasBegun && run.includes(DONE))) {
      this.#readEvents(run);
      return;
    }
    this.hasBegun ||= holdsData(run);
    text?.addPassed(run);
    this.#output.forward(run);
  }

  /** Takes a part of an event that is too large to be kept. */
  oversize(part: Buffer, isLast: boolean): void {
    if (this.isVoid || (this.#isTerminated && !this.#reading.goesOnBehindEnd)) return;
    if (this.#isTerminated) this.#output.finish(part);
    else this.#output.forward(part);
    this.hasBegun = true;
    if (!this.#isInLarge) this.#reading.noteLarge?.(part);
    this.#reading.notePart?.(part, isLast);
    this.#isInLarge = !isLast;
    this.#text?.addPart(part, isLast);
  }

  isNeededWhole(beginning: Buffer): boolean {
    return this.#reading.isNeededWhole?.(beginning) ?? false;
  }

  /** Reads the events of a run one by one; those that pass side by side leave together. */
  #readEvents(run: Buffer): void {
    let passedStart = 0;
    let end = 0;
    let wasDropped = false;
    for (const event of eachEvent(run)) {
      const start = end;
      end += event.length;
      const meaning = this.#meaningOf(event);
      if (meaning === 'pass') {
        wasDropped = false;
        continue;
      }
      if (start > passedStart) this.#output.forward(run.subarray(passedStart, start));
      passedStart = end;
      wasDropped = meaning === 'drop';
      if (meaning === 'error') {
        this.hasError = true;
        this.#output.forwardError(event);
      } else if (meaning !== 'drop') {
        this.#terminate(meaning, event);
        if (!this.isVoid && end < run.length) this.#finishRest(run.subarray(end));
        return;
      }
    }
    if (end > passedStart) this.#output.forward(run.subarray(passedStart, end));
    this.#dropsLineFeed = wasDropped && run[run.length - 1] === CR;
  }

  #meaningOf(event: Buffer): EventMeaning {
    if (!this.hasBegun && isDone(event)) return 'done';
    // One by one, so that what follows the end counts nowhere, also if it comes with it.
    this.#text?.add(event);
    const meaning = this.#read(event);
    const isOfResponse = meaning !== 'error' && meaning !== 'failed' && meaning !== 'done';
    if (isOfResponse) this.hasBegun ||= holdsData(event);
    return meaning;
  }

  /** A stream that ends before it has begun has delivered nothing. */
  #terminate(meaning: 'terminal' | 'done' | 'failed', event: Buffer): void {
    this.#isTerminated = true;
    if (meaning === 'failed') {
      this.hasError = true;
      this.#output.finishError(event);
    } else if (meaning === 'done' && !this.hasBegun) {
      this.isVoid = true;
    } else {
      this.#output.finish(event);
    }
  }

  /**
   * What follows the end of a stream is no output any more: it is neither delivered nor charged, unless its protocol says otherwise.
   * But some providers report usage behind the end, or with a second one; their ends and comments go on.
   */
  #finishRest(run: Buffer): void {
    const goesOn = this.#reading.goesOnBehindEnd ?? false;
    for (const event of eachEvent(run)) {
      if (!holdsData(event) || isDone(event)) {
        this.#output.finish(event);
        if (!this.usage.isFinal) this.#read(event);
        continue;
      }
      if (this.usage.isFinal && !goesOn) continue;
      const meaning = this.#reading.matters(event) ? this.#read(event) : 'pass';
      if (meaning === 'terminal' || meaning === 'done' || (meaning === 'pass' && goesOn)) this.#output.finish(event);
      else if (meaning === 'failed' || (meaning === 'error' && goesOn)) this.#output.finishError(event);
    }
  }

  #read(event: Buffer): EventMeaning {
    const meaning = this.#reading.read(event);
    this.usage.noteReport();
    return meaning;
  }
}
