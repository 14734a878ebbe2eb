import { holdsData } from '../../lib/sse/event-fields.ts';
import { eachEvent, type SseSink, SseSplitter } from '../../lib/sse/sse.ts';
import type { SignedBlocks } from '../signed-blocks.ts';
import { isDone, isWholeEvent } from './event-forms.ts';
import type { EventMeaning, StreamReading } from './stream-reading.ts';
import { StreamUsage } from './stream-usage.ts';
import { WrittenText } from './written-text.ts';

export interface TapOutput {
  forward(bytes: Buffer): void;
  /** Forwards an event with the provider's error. Its message may contain data that the client must not see. */
  forwardError(event: Buffer): void;
  finish(bytes: Buffer): void;
  /** Like `forwardError`, for an event that ends the stream and so must wait for the settlement. */
  finishError(event: Buffer): void;
}

const LF = 0x0a;
const CR = 0x0d;
const DONE = Buffer.from('[DONE]');

/** Forwards a provider's stream. The terminal event and everything after it go to `finish`, which sends them after the settlement. */
export class StreamTap implements SseSink {
  readonly usage: StreamUsage;
  hasError = false;
  /** Whether an event of a response has arrived. Keep-alive comments and errors are no such events. */
  hasBegun = false;
  isVoid = false;
  readonly #reading: StreamReading;
  readonly #output: TapOutput;
  readonly #signed: SignedBlocks | null;
  readonly #text: WrittenText | null;
  readonly #splitter = new SseSplitter(this);
  #isTerminated = false;
  #isInLarge = false;
  /** Whether the stream ended within an event of which only a part was delivered. */
  #isCut = false;
  /** Whether the last event was delivered without the empty line after it. */
  #lacksEmptyLine = false;
  /** Whether a dropped event ended with the CR of a CRLF. Its LF must then be dropped, too. */
  #dropsLineFeed = false;

  /** @param signed collects the signed blocks of the stream; `null`: they are not needed */
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

  /** Called at the end of the provider's stream. An incomplete event is dropped, because clients could not parse it. */
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

  /** Whether the stream is complete. Some providers send no terminal event; the stream must then have ended without an error. */
  isComplete(endedCleanly: boolean): boolean {
    if (this.isVoid) return false;
    return this.#isTerminated || (endedCleanly && !this.hasError && !this.#isCut && this.#reading.canEndHere);
  }

  /** Whether a comment can be inserted at this point. */
  get isBetweenEvents(): boolean {
    return this.#splitter.isBetweenEvents && !this.#lacksEmptyLine && !this.#isTerminated;
  }

  get hasOutputEnd(): boolean {
    return this.#isTerminated || this.#reading.hasOutputEnd;
  }

  get memoryBytes(): number {
    return this.#splitter.keptBytes;
  }

  continuationKeys(): readonly string[] {
    return [...(this.#reading.continuationKeys?.() ?? []), ...(this.#signed?.keys() ?? [])];
  }

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
    // A `[DONE]` that comes first ends the stream, whatever the protocol.
    if (this.#reading.matters(run) || (!this.hasBegun && run.includes(DONE))) {
      this.#readEvents(run);
      return;
    }
    this.hasBegun ||= holdsData(run);
    text?.addPassed(run);
    this.#output.forward(run);
  }

  oversize(part: Buffer, isLast: boolean): void {
    if (this.isVoid || (this.#isTerminated && !this.#reading.continuesAfterEnd)) return;
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

  /** Reads event by event. Adjacent events that are forwarded are sent together. */
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
    // Text counts event by event, so that text after the end is excluded.
    this.#text?.add(event);
    const meaning = this.#read(event);
    const isOfResponse = meaning !== 'error' && meaning !== 'failed' && meaning !== 'done';
    if (isOfResponse) this.hasBegun ||= holdsData(event);
    return meaning;
  }

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

  /** Reads what follows the end. Output is dropped; ends and comments are not, because some providers report usage after the end. */
  #finishRest(run: Buffer): void {
    const continues = this.#reading.continuesAfterEnd ?? false;
    for (const event of eachEvent(run)) {
      if (!holdsData(event) || isDone(event)) {
        this.#output.finish(event);
        if (!this.usage.isFinal) this.#read(event);
        continue;
      }
      if (this.usage.isFinal && !continues) continue;
      const meaning = this.#reading.matters(event) ? this.#read(event) : 'pass';
      if (meaning === 'terminal' || meaning === 'done' || (meaning === 'pass' && continues)) this.#output.finish(event);
      else if (meaning === 'failed' || (meaning === 'error' && continues)) this.#output.finishError(event);
    }
  }

  #read(event: Buffer): EventMeaning {
    const meaning = this.#reading.read(event);
    this.usage.noteReport();
    return meaning;
  }
}
