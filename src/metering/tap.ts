import { eventFields } from '../lib/event-fields.ts';
import { JsonSyntaxError, scanJson } from '../lib/json-scan.ts';
import { eachEvent, holdsData, type SseSink, SseSplitter } from '../lib/sse.ts';
import { countTextBytes, estimateTokens, PartedText } from './estimate.ts';
import { noUsage, type Usage, type UsageFacts } from './usage-facts.ts';

/**
 * Reads the bytes of a provider's stream on their way to the client.
 *
 *   provider ─▶ push(chunk) ─▶ forward(bytes)     everything up to the terminal event, byte for byte
 *                          └─▶ finish(bytes)      the terminal event and what follows, to be sent after settlement
 *
 * The tap knows no sockets and no money. What it learns is in `usage`, `isComplete` and `hasError`.
 */
export interface StreamTap {
  push(chunk: Buffer): void;
  /**
   * The provider's stream has ended. An event that lacks only its empty line is given out; half an event is not, because
   * clients fail over it before they see the error that follows.
   */
  end(): void;
  /**
   * Whether the stream reached what its protocol calls an end. Some providers leave the terminal event out; their streams
   * are complete where they end by themselves (`endedCleanly`) after everything that matters.
   */
  isComplete(endedCleanly: boolean): boolean;
  /** Whether the provider reported an error inside the stream. */
  readonly hasError: boolean;
  /** Whether a comment may be put into the stream here: what has been forwarded does not end inside an event. */
  readonly isBetweenEvents: boolean;
  /**
   * What was used: the provider's figures where they arrived, else estimated from the size of the request and of the
   * text that was relayed. `null` where nothing of an answer came through.
   */
  usage(inputTokensEstimate: number): UsageFacts | null;
  /** Whether a stream without usage facts of its own is no success: nothing is estimated and nothing charged. */
  readonly failsClosed: boolean;
  /** What a later call may refer to of a complete stream. */
  affinityKeys(): readonly string[];
}

export interface TapOutput {
  forward(bytes: Buffer): void;
  /** An event in which the provider says that it failed: its own words, which may name more than the client is to see. */
  forwardError(event: Buffer): void;
  finish(bytes: Buffer): void;
  /** As `forwardError`, of an event that ends the stream and so waits for settlement. */
  finishError(event: Buffer): void;
}

/** What the events of one protocol mean. */
export interface StreamReading {
  /** A byte test: whether an event in this run may have to be read. Where it says no, the run is passed on unread. */
  matters(run: Buffer): boolean;
  /** Keys under which the protocol streams text. */
  readonly textKeys: readonly Buffer[];
  /** Reads one event of a run that matters. */
  read(event: Buffer): EventMeaning;
  /** What the provider has reported so far; `null` where no complete figures came. */
  usage(): Usage | null;
  /** The input side of the report where the output side is missing, as in a stream that was cut off. */
  partialUsage(): Usage | null;
  /** Whether the stream may end here although no terminal event was seen. */
  readonly canEndHere: boolean;
  /**
   * Whether an event that grows large has to be read all the same, by how it begins; one that has not is passed on in parts.
   * Absent: never.
   */
  isNeededWhole?(beginning: Buffer): boolean;
  /** What a later call may refer to, once the stream is complete (design 9). Absent: nothing. */
  affinityKeys?(): readonly string[];
  /** Whether a stream that broke off is charged by estimate. Absent: yes. */
  readonly isNeverEstimated?: boolean;
}

/**
 * - `pass`: goes on to the client.
 * - `drop`: was asked for by the gateway, not by the client.
 * - `terminal`: the last event of a complete stream.
 * - `error`: the provider says that it failed.
 * - `failed`: the last event of a stream, in which the provider says that it failed.
 */
export type EventMeaning = 'pass' | 'drop' | 'terminal' | 'error' | 'failed';

const LF = 0x0a;
const CR = 0x0d;

export function createStreamTap(reading: StreamReading, output: TapOutput): StreamTap {
  let isTerminated = false;
  let hasError = false;
  let textBytes = 0;
  /** Counts the text of an event that passes in parts. */
  let partedText: PartedText | null = null;
  /** Whether anything of an answer has come through; comments that keep a connection alive are none. */
  let hasRelayed = false;
  /** The stream ended within an event that was not given out, or only in parts. */
  let isCut = false;
  /** The last event was given out as the provider left it, without its empty line. */
  let lacksEmptyLine = false;
  /** The run before ended with the first byte of a CRLF that was dropped; the second one goes the same way. */
  let dropsLineFeed = false;

  const sink: SseSink = {
    events(bytes) {
      if (isTerminated) {
        finishRest(bytes);
        return;
      }
      const run = dropsLineFeed && bytes[0] === LF ? bytes.subarray(1) : bytes;
      dropsLineFeed = false;
      if (run.length === 0) return;
      hasRelayed ||= holdsData(run);
      if (!reading.matters(run)) {
        textBytes += countTextBytes(run, reading.textKeys);
        output.forward(run);
        return;
      }
      readEvents(run);
    },
    oversize(part, isLast) {
      if (isTerminated) output.finish(part);
      else output.forward(part);
      hasRelayed = true;
      partedText ??= new PartedText(reading.textKeys);
      textBytes += partedText.count(part);
      if (isLast) partedText = null;
    },
    isNeededWhole: (beginning) => reading.isNeededWhole?.(beginning) ?? false,
  };

  /** Reads the events of a run one by one; those that pass side by side leave together. */
  function readEvents(run: Buffer): void {
    let passedStart = 0;
    let passedEnd = 0;
    let wasDropped = false;
    const forwardPassed = (): void => {
      if (passedEnd > passedStart) output.forward(run.subarray(passedStart, passedEnd));
    };
    for (const event of eachEvent(run)) {
      // One by one, so that what follows the end counts nowhere, also where it comes with it.
      textBytes += countTextBytes(event, reading.textKeys);
      const meaning = reading.read(event);
      if (meaning === 'terminal') {
        forwardPassed();
        isTerminated = true;
        passedEnd += event.length;
        output.finish(event);
        if (passedEnd < run.length) finishRest(run.subarray(passedEnd));
        return;
      }
      if (meaning === 'failed') {
        forwardPassed();
        hasError = true;
        isTerminated = true;
        output.finishError(event);
        passedEnd += event.length;
        if (passedEnd < run.length) finishRest(run.subarray(passedEnd));
        return;
      }
      if (meaning === 'drop' || meaning === 'error') {
        forwardPassed();
        passedEnd += event.length;
        passedStart = passedEnd;
        if (meaning === 'error') {
          hasError = true;
          output.forwardError(event);
        }
        wasDropped = meaning === 'drop';
      } else {
        wasDropped = false;
        passedEnd += event.length;
      }
    }
    forwardPassed();
    dropsLineFeed = wasDropped && run[run.length - 1] === CR;
  }

  /** What follows the end of a stream means nothing any more, but may still hold words that the client must not see. */
  function finishRest(run: Buffer): void {
    if (!reading.matters(run)) {
      output.finish(run);
      return;
    }
    for (const event of eachEvent(run)) {
      const meaning = reading.read(event);
      if (meaning === 'error' || meaning === 'failed') output.finishError(event);
      else output.finish(event);
    }
  }

  const splitter = new SseSplitter(sink);
  return {
    push: (chunk) => splitter.push(chunk),
    end() {
      const rest = splitter.takeRest();
      if (rest === null) {
        isCut = !splitter.isBetweenEvents;
      } else if (isTerminated || isWholeEvent(rest)) {
        sink.events(rest);
        lacksEmptyLine = true;
      } else {
        isCut = true;
      }
    },
    isComplete: (endedCleanly) => isTerminated || (endedCleanly && !hasError && !isCut && reading.canEndHere),
    get hasError() {
      return hasError;
    },
    get isBetweenEvents() {
      return splitter.isBetweenEvents && !lacksEmptyLine && !isTerminated;
    },
    usage(inputTokensEstimate) {
      const observed = reading.usage();
      if (observed !== null) return { ...observed, source: 'observed' };
      // A stream that holds nothing but an error gave nothing to pay for.
      if (reading.isNeverEstimated || !hasRelayed || (hasError && textBytes === 0)) return null;
      const partial = reading.partialUsage() ?? { ...noUsage, inputTokens: inputTokensEstimate };
      const outputTokens = Math.max(partial.outputTokens, estimateTokens(textBytes));
      return { ...partial, outputTokens, source: 'estimated' };
    },
    failsClosed: reading.isNeverEstimated ?? false,
    affinityKeys: () => reading.affinityKeys?.() ?? [],
  };
}

const DONE = Buffer.from('[DONE]');

/**
 * Whether an event that lacks its empty line says all that it was meant to say. A name alone does not: its data are to
 * come, and some clients read an event without data as well. A comment or the like is no event.
 */
function isWholeEvent(event: Buffer): boolean {
  const { name, data } = eventFields(event);
  if (data === null) return name === null;
  if (data.equals(DONE)) return true;
  try {
    scanJson(data);
    return true;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return false;
    throw error;
  }
}
