import { eachEvent, eventData, type SseSink, SseSplitter } from '../lib/sse.ts';
import { countTextBytes, estimateTokens } from './estimate.ts';
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
  /** The provider's stream has ended: gives out what was kept. Answers whether the last event lacks its empty line. */
  end(): boolean;
  /**
   * Whether the stream reached what its protocol calls an end. Some providers leave the terminal event out; their streams
   * are complete where they end by themselves (`endedCleanly`) after everything that matters.
   */
  isComplete(endedCleanly: boolean): boolean;
  /** Whether the provider reported an error inside the stream. */
  readonly hasError: boolean;
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

/** A run this long holds data: comments are short, and looking for its fields would cost more than it is worth. */
const LONG_RUN_BYTES = 64 * 1024;

const LF = 0x0a;
const CR = 0x0d;

export function createStreamTap(reading: StreamReading, output: TapOutput): StreamTap {
  let isTerminated = false;
  let hasError = false;
  let textBytes = 0;
  /** Whether anything of an answer has come through; comments that keep a connection alive are none. */
  let hasRelayed = false;
  /** The run before ended with the first byte of a CRLF that was dropped; the second one goes the same way. */
  let dropsLineFeed = false;

  const sink: SseSink = {
    events(bytes) {
      if (isTerminated) {
        output.finish(bytes);
        return;
      }
      const run = dropsLineFeed && bytes[0] === LF ? bytes.subarray(1) : bytes;
      dropsLineFeed = false;
      if (run.length === 0) return;
      hasRelayed ||= run.length > LONG_RUN_BYTES || holdsData(run);
      textBytes += countTextBytes(run, reading.textKeys);
      if (!reading.matters(run)) {
        output.forward(run);
        return;
      }
      readEvents(run);
    },
    oversize(part) {
      if (isTerminated) output.finish(part);
      else output.forward(part);
      hasRelayed = true;
      textBytes += part.length;
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
      const meaning = reading.read(event);
      if (meaning === 'terminal') {
        forwardPassed();
        isTerminated = true;
        output.finish(run.subarray(passedEnd));
        return;
      }
      if (meaning === 'failed') {
        forwardPassed();
        hasError = true;
        isTerminated = true;
        output.finishError(event);
        passedEnd += event.length;
        if (passedEnd < run.length) output.finish(run.subarray(passedEnd));
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

  const splitter = new SseSplitter(sink);
  return {
    push: (chunk) => splitter.push(chunk),
    end: () => splitter.end(),
    isComplete: (endedCleanly) => isTerminated || (endedCleanly && !hasError && reading.canEndHere),
    get hasError() {
      return hasError;
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

function holdsData(run: Buffer): boolean {
  for (const event of eachEvent(run)) {
    if (eventData(event) !== null) return true;
  }
  return false;
}
