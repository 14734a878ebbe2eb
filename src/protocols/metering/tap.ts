import { eachEvent, holdsData, type SseSink, SseSplitter } from '../../lib/sse/sse.ts';
import type { SignedBlocks } from '../signed-blocks.ts';
import { isDone, isWholeEvent } from './event-forms.ts';
import { pictureTokens } from './media-tokens.ts';
import { boundedOutput, type DeliveredOutput, doubtsOf, NO_DOUBTS } from './plausible-usage.ts';
import {
  type DoubtedSide,
  inputTokensOf,
  type MediaTokens,
  noUsage,
  type Usage,
  type UsageFacts,
} from './usage-facts.ts';
import type { WrittenRules } from './written-paths.ts';
import { WrittenText } from './written-text.ts';

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
  /** Whether an event of a response has come through; keep-alive comments and errors do not count. */
  readonly hasBegun: boolean;
  /** Whether the stream has ended with nothing delivered: its first event was its end. */
  readonly isVoid: boolean;
  /** Whether an end of the output has been seen: what may follow is above all the usage. */
  readonly hasOutputEnd: boolean;
  /**
   * Whether the provider has reported the whole output. A report that cannot be of what came through is not final: the
   * figures may still follow, such as with a second terminal event.
   */
  readonly isUsageFinal: boolean;
  /** The memory of an event that has not come as a whole. */
  readonly memoryBytes: number;
  /** The size of the text that has come through, without reasoning that is encrypted. */
  readonly visibleTextBytes: number;
  /** What the provider has reported so far; `null` if nothing readable came. */
  readonly reported: Usage | null;
  /** Whether `usage` needs an estimate of the input: the provider has not reported it. */
  readonly needsInputEstimate: boolean;
  /** Whether a comment may be put into the stream here: what has been forwarded does not end inside an event. */
  readonly isBetweenEvents: boolean;
  /**
   * What was used: the provider's figures if they are final and can be of what came through. Else an estimate of what they do not
   * cover: of the input, and of the output by the size of its text or, where the model reasons unseen, by
   * `unseenOutputTokens`. `null` if nothing of a response came through.
   */
  usage(inputTokensEstimate: number, unseenOutputTokens?: number): UsageFacts | null;
  /** Whether a stream without usage facts of its own is no success: nothing is estimated and nothing charged. */
  readonly failsClosed: boolean;
  /** Continuation keys of a complete stream. */
  continuationKeys(): readonly string[];
}

interface TapOutput {
  forward(bytes: Buffer): void;
  /** An event in which the provider says that it failed. Its words may contain what the client must not see. */
  forwardError(event: Buffer): void;
  finish(bytes: Buffer): void;
  /** As `forwardError`, of an event that ends the stream and so waits for settlement. */
  finishError(event: Buffer): void;
}

/** What the events of one protocol mean. */
export interface StreamReading {
  /** A byte test: whether an event in this run may have to be read. If it says no, the run is passed on unread. */
  matters(run: Buffer): boolean;
  /** Where the model writes in an event; `null`: nowhere, its output is no text. */
  readonly written: WrittenRules | null;
  /** The text of an event that repeats all of it, if no other event had any. Absent: none. */
  readonly repeatedTextBytes?: number;
  /** How many reports of usage stated output, none of them less than one before. */
  readonly outputReports: number;
  /** Whether output came that is no text and that is charged also if an error follows. Absent: no. */
  readonly hasOtherOutput?: boolean;
  /** The estimated tokens of output that came and is no text: sounds and pictures. Absent: none. */
  mediaTokens?(): MediaTokens;
  /** Reads one event of a run that matters. */
  read(event: Buffer): EventMeaning;
  /** What the provider has reported, once that includes the whole output; the greatest figure of each field. */
  usage(): Usage | null;
  /** What it has reported so far; `null` if nothing readable came. */
  partialUsage(): Usage | null;
  /** Whether an end of the output has been seen. */
  readonly hasOutputEnd: boolean;
  /** Whether the stream may end here although no terminal event was seen. */
  readonly canEndHere: boolean;
  /**
   * Whether an event that grows large has to be read as a whole, by how it begins; others are passed on in parts.
   * Absent: never.
   */
  isNeededWhole?(beginning: Buffer): boolean;
  /** Takes note of an event that passes in parts, by how it begins. Absent: nothing is to be noted. */
  noteLarge?(beginning: Buffer): void;
  /** Takes note of each part of such an event, the first one included. Absent: nothing is to be noted. */
  notePart?(part: Buffer, isLast: boolean): void;
  /** Keys of what a later call may refer to, once the stream is complete. Absent: none. */
  continuationKeys?(): readonly string[];
  /** Whether what follows the end belongs to the response, such as a preview of an image. Absent: no. */
  readonly goesOnBehindEnd?: boolean;
  /** Whether a stream that broke off is charged by estimate. Absent: yes. */
  readonly isNeverEstimated?: boolean;
}

/**
 * - `pass`: goes on to the client.
 * - `drop`: was asked for by the gateway, not by the client.
 * - `terminal`: the last event of a complete stream, with what it delivers.
 * - `done`: the last event of a complete stream, which delivers nothing itself.
 * - `error`: the provider says that it failed.
 * - `failed`: the last event of a stream, in which the provider says that it failed.
 */
export type EventMeaning = 'pass' | 'drop' | 'terminal' | 'done' | 'error' | 'failed';

const LF = 0x0a;
const CR = 0x0d;
const DONE = Buffer.from('[DONE]');

/** @param signed gathers the signed blocks of the stream; `null`: they are not looked for. */
export function createStreamTap(
  reading: StreamReading,
  output: TapOutput,
  signed: SignedBlocks | null = null,
): StreamTap {
  let isTerminated = false;
  let hasError = false;
  const text = reading.written === null ? null : new WrittenText(reading.written);
  let hasBegun = false;
  let isVoid = false;
  /** The reports of output so far, and the text that had come with the last one. */
  let outputReports = 0;
  let reportedBytes = 0;
  let reportedVisibleBytes = 0;
  /** Within an event that passes in parts. */
  let isInLarge = false;
  /** The stream ended within an event that was not given out, or only in parts. */
  let isCut = false;
  /** The last event was given out as the provider left it, without its empty line. */
  let lacksEmptyLine = false;
  /** The run before ended with the first byte of a CRLF that was dropped; the second one goes the same way. */
  let dropsLineFeed = false;

  const sink: SseSink = {
    events(bytes) {
      if (isVoid) return;
      if (isTerminated) {
        finishRest(bytes);
        return;
      }
      const run = dropsLineFeed && bytes[0] === LF ? bytes.subarray(1) : bytes;
      dropsLineFeed = false;
      if (run.length === 0) return;
      signed?.add(run);
      if (text?.addSimilar(run)) {
        output.forward(run);
        return;
      }
      // An end that comes first is one in every protocol.
      if (reading.matters(run) || (!hasBegun && run.includes(DONE))) {
        readEvents(run);
        return;
      }
      hasBegun ||= holdsData(run);
      text?.addPassed(run);
      output.forward(run);
    },
    oversize(part, isLast) {
      if (isVoid || (isTerminated && !reading.goesOnBehindEnd)) return;
      if (isTerminated) output.finish(part);
      else output.forward(part);
      hasBegun = true;
      if (!isInLarge) reading.noteLarge?.(part);
      reading.notePart?.(part, isLast);
      isInLarge = !isLast;
      text?.addPart(part, isLast);
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
      if (!hasBegun && isDone(event)) {
        forwardPassed();
        endVoid();
        return;
      }
      // One by one, so that what follows the end counts nowhere, also if it comes with it.
      text?.add(event);
      const meaning = read(event);
      if (meaning === 'done' && !hasBegun) {
        forwardPassed();
        endVoid();
        return;
      }
      if (meaning !== 'error' && meaning !== 'failed') hasBegun ||= holdsData(event);
      switch (meaning) {
        case 'pass':
          wasDropped = false;
          passedEnd += event.length;
          break;
        case 'drop':
        case 'error':
          forwardPassed();
          passedEnd += event.length;
          passedStart = passedEnd;
          wasDropped = meaning === 'drop';
          if (meaning === 'error') {
            hasError = true;
            output.forwardError(event);
          }
          break;
        case 'terminal':
        case 'done':
        case 'failed':
          forwardPassed();
          isTerminated = true;
          passedEnd += event.length;
          if (meaning === 'failed') {
            hasError = true;
            output.finishError(event);
          } else {
            output.finish(event);
          }
          if (passedEnd < run.length) finishRest(run.subarray(passedEnd));
          return;
        default:
          meaning satisfies never;
      }
    }
    forwardPassed();
    dropsLineFeed = wasDropped && run[run.length - 1] === CR;
  }

  /**
   * What follows the end of a stream is no output any more: it is neither delivered nor charged, unless its protocol says otherwise.
   * But some providers report usage behind the end, or with a second one; their ends and comments go on.
   */
  function finishRest(run: Buffer): void {
    for (const event of eachEvent(run)) {
      if (!holdsData(event) || isDone(event)) {
        output.finish(event);
        if (!isFinal()) read(event);
        continue;
      }
      const goesOn = reading.goesOnBehindEnd ?? false;
      if (isFinal() && !goesOn) continue;
      const meaning = reading.matters(event) ? read(event) : 'pass';
      if (meaning === 'terminal' || meaning === 'done' || (meaning === 'pass' && goesOn)) output.finish(event);
      else if (meaning === 'failed' || (meaning === 'error' && goesOn)) output.finishError(event);
    }
  }

  function read(event: Buffer): EventMeaning {
    const meaning = reading.read(event);
    if (reading.outputReports > outputReports) {
      outputReports = reading.outputReports;
      reportedBytes = textBytes();
      reportedVisibleBytes = visibleBytes();
    }
    return meaning;
  }

  /** Ends a stream that has delivered nothing. */
  function endVoid(): void {
    isTerminated = true;
    isVoid = true;
  }

  function isFinal(): boolean {
    const usage = reading.usage();
    return usage !== null && !doubtsIn(usage).includes('output');
  }

  /** What of the reported figures cannot be of what came through. Images have facts of their own. */
  function doubtsIn(usage: Usage): readonly DoubtedSide[] {
    return reading.written === null ? NO_DOUBTS : doubtsOf(usage, delivered(), 'tokens');
  }

  function delivered(): DeliveredOutput {
    return {
      textBytes: textBytes(),
      reportedTextBytes: reportedBytes,
      visibleBytes: visibleBytes(),
      reportedVisibleBytes,
      hasMedia: hasMedia(),
      hasResults: false,
    };
  }

  function visibleBytes(): number {
    return text === null ? 0 : text.visibleBytes || (reading.repeatedTextBytes ?? 0);
  }

  function textBytes(): number {
    return text === null ? 0 : text.sizeBytes || (reading.repeatedTextBytes ?? 0);
  }

  function mediaTokens(): MediaTokens {
    const media = reading.mediaTokens?.() ?? NO_MEDIA;
    const pictures = text?.pictures ?? 0;
    if (pictures === 0) return media;
    return { ...media, imageOutputTokens: media.imageOutputTokens + pictures * pictureTokens(null) };
  }

  function hasMedia(): boolean {
    const media = mediaTokens();
    return media.audioOutputTokens + media.imageOutputTokens > 0 || (media.parts ?? []).length > 0;
  }

  function hasOutput(): boolean {
    return textBytes() > 0 || reading.hasOtherOutput === true || hasMedia();
  }

  /** A stream that has nothing but an error is not charged. */
  function isEstimable(): boolean {
    return !reading.isNeverEstimated && hasBegun && !(hasError && !hasOutput());
  }

  const splitter = new SseSplitter(sink);
  return {
    push: (chunk) => splitter.push(chunk),
    end() {
      const rest = splitter.takeRest();
      if (rest === null) {
        isCut = !splitter.isBetweenEvents;
      } else if (isWholeEvent(rest)) {
        sink.events(rest);
        lacksEmptyLine = true;
      } else {
        isCut = true;
      }
    },
    isComplete(endedCleanly) {
      if (isVoid) return false;
      return isTerminated || (endedCleanly && !hasError && !isCut && reading.canEndHere);
    },
    get hasError() {
      return hasError;
    },
    get isBetweenEvents() {
      return splitter.isBetweenEvents && !lacksEmptyLine && !isTerminated;
    },
    get hasBegun() {
      return hasBegun;
    },
    get isVoid() {
      return isVoid;
    },
    get hasOutputEnd() {
      return isTerminated || reading.hasOutputEnd;
    },
    get isUsageFinal() {
      return isFinal();
    },
    get memoryBytes() {
      return splitter.memoryBytes;
    },
    get visibleTextBytes() {
      return text?.visibleBytes ?? 0;
    },
    get reported() {
      return reading.usage() ?? reading.partialUsage();
    },
    get needsInputEstimate() {
      const observed = reading.usage();
      if (observed !== null) return doubtsIn(observed).includes('input');
      return isEstimable() && !holdsInput(reading.partialUsage());
    },
    usage(inputTokensEstimate, unseenOutputTokens = 0) {
      const observed = reading.usage();
      const doubted = observed === null ? NO_DOUBTS : doubtsIn(observed);
      if (observed !== null && doubted.length === 0) return { ...observed, source: 'observed' };
      if (observed === null && !isEstimable()) return null;
      const reported = observed ?? reading.partialUsage() ?? noUsage;
      const inputTokens = holdsInput(reported) ? reported.inputTokens : inputTokensEstimate;
      const how = { source: 'estimated', ...(observed && { doubted }) } as const;
      if (observed !== null && !doubted.includes('output')) return { ...reported, inputTokens, ...how };
      const output = withMedia(reported, mediaTokens());
      const outputTokens = boundedOutput(output.outputTokens, delivered(), unseenOutputTokens);
      return { ...output, inputTokens, outputTokens, ...how };
    },
    get failsClosed() {
      return reading.isNeverEstimated ?? false;
    },
    continuationKeys: () => [...(reading.continuationKeys?.() ?? []), ...(signed?.keys() ?? [])],
  };
}

const NO_MEDIA: MediaTokens = { audioOutputTokens: 0, imageOutputTokens: 0 };

/**
 * What was reported, with sounds and pictures that it lacks. A report that does not tell the kinds of output apart has them in
 * its `outputTokens`, and is not counted twice.
 */
function withMedia(reported: Usage, media: MediaTokens): Usage {
  const audioOutputTokens = Math.max(reported.audioOutputTokens, media.audioOutputTokens);
  const imageOutputTokens = Math.max(reported.imageOutputTokens, media.imageOutputTokens);
  const more = audioOutputTokens + imageOutputTokens - reported.audioOutputTokens - reported.imageOutputTokens;
  const outputTokens = Math.max(reported.outputTokens - more, 0);
  const { parts = reported.parts } = media;
  return { ...reported, outputTokens, audioOutputTokens, imageOutputTokens, ...(parts && { parts }) };
}

/** Some providers report zeros before they report figures; no request has an input of nothing. */
function holdsInput(usage: Usage | null): boolean {
  return usage !== null && inputTokensOf(usage) > 0;
}
