import { BytePatterns } from '../../lib/byte-patterns.ts';
import { isRecord, parseJson } from '../../lib/json/json.ts';
import { eventFields } from '../../lib/sse/event-fields.ts';
import { valueStart } from '../metering/estimate.ts';
import { greatestFigures } from '../metering/greatest-figures.ts';
import type { RestateUsage } from '../metering/input-with-cache.ts';
import { OutputReports } from '../metering/plausible-usage.ts';
import { roundsOutsideUsage } from '../metering/rounds.ts';
import { readTerms } from '../metering/service-terms.ts';
import type { EventMeaning, StreamReading } from '../metering/stream-reading.ts';
import { noUsage, sumCounts, totalTokens, type Usage } from '../metering/usage-facts.ts';
import { WrittenText } from '../metering/written-text.ts';
import { audioKeys } from './audio.ts';
import { chatMedia, PICTURE_MARKS } from './media.ts';
import type { ChatResponseOptions } from './response.ts';
import { shownTools, TOOL_MARKS } from './shown-tools.ts';
import { chatToolUses, readChatUsage } from './usage.ts';
import { COMPLETION_TEXT, streamedChatText } from './written.ts';

/**
 * How to read a chat stream. It has `data:` lines without event names and ends with `[DONE]`. With `include_usage`, only the last chunk has
 * usage, and no choices. An error is a chunk with an `error` member, an event named `error`, an object of type `error` (vLLM), or the
 * finish reason `error` (Mistral, OpenRouter).
 */
export interface ChatStreamOptions extends ChatResponseOptions {
  /** Whether to remove the chunk with only usage: if the gateway asked for it, but not the client. */
  readonly dropsUsageChunk: boolean;
  readonly choices: number;
  /** Whether the request asks for a service tier. The tier is then read from the first chunk, because the stream may break off. */
  readonly asksForTier?: boolean;
  readonly restate?: RestateUsage | undefined;
  /** Whether the output repeats the prompt, so that its size does not tell how much the model wrote. */
  readonly echoes?: boolean;
}

const USAGE = Buffer.from('"usage"');
const DONE = Buffer.from('[DONE]');
const ERROR = Buffer.from('"error"');
const NAMED = Buffer.from('event:');
const AUDIO = Buffer.from('"audio"');
const FINISH = Buffer.from('"finish_reason"');
const TIER = Buffer.from('"service_tier"');
const MESSAGE = Buffer.from('"message"');
/** Patterns of events that must be parsed. All others are forwarded unread. */
const MARKERS = [MESSAGE, USAGE, FINISH, ERROR, TIER, AUDIO, DONE, NAMED, ...PICTURE_MARKS, ...TOOL_MARKS];
const MARKER_PATTERNS = new BytePatterns(MARKERS);
const MESSAGE_PATTERN = new BytePatterns([MESSAGE]);

export function readChatStream(options: ChatStreamOptions): StreamReading {
  let reported: unknown = null;
  const reports = new OutputReports();
  let usage: Usage | null = null;
  let serviceTier: unknown;
  let isUsageFinal = false;
  let hasEnded = false;
  let hasUsageChunk = false;
  /** Size of the text in a `message`, which some servers send in addition to `delta`. It repeats all text. */
  let repeatedTextBytes = 0;
  let hasDeltas = false;
  const finished = new Set<number>();
  const audio = new Set<string>();
  const shown = shownTools(options.offersTools === true);
  let shownRounds = 0;
  const { asksForSearch = false, outputTokensMax } = options;
  const media = chatMedia(options.audioFormat ?? null);
  let model: string | null = null;

  const holdsMedia = (bytes: Buffer): boolean =>
    (options.hasAudio === true && bytes.includes(AUDIO)) || PICTURE_MARKS.some((mark) => bytes.includes(mark));

  /** Whether an event must be parsed because of a pattern in it that ends at `end`. After the end of the output, only usage matters. */
  function isRelevant(bytes: Buffer, marker: Buffer, end: number): boolean {
    const value = valueStart(bytes, end);
    // Some providers send null as long as the value is unknown.
    const hasValue = value !== -1 && bytes[value] !== LETTER_N;
    switch (marker) {
      case USAGE:
        return hasValue;
      case FINISH:
        // Some providers send an empty reason until the choice is finished.
        return finished.size < options.choices && bytes[value] === QUOTE && bytes[value + 1] !== QUOTE;
      case ERROR:
        // Without a colon after it, `"error"` is not a key but a value.
        return value === -1 || hasValue;
      case TIER:
        return options.asksForTier === true && serviceTier === undefined && hasValue;
      case AUDIO:
        return options.hasAudio === true && !hasEnded;
      case MESSAGE:
        return !hasDeltas && !hasEnded && bytes[value] === OPEN_BRACE;
      case DONE:
      case NAMED:
        return true;
      default:
        return PICTURE_MARKS.includes(marker) ? !hasEnded : shown.isRelevant(bytes, marker);
    }
  }

  const matters = (run: Buffer): boolean =>
    MARKER_PATTERNS.some(run, (marker, end) => isRelevant(run, MARKERS[marker]!, end));
  /** Whether an event contains another pattern than `event:`, which can also be in text. */
  const hasMore = (event: Buffer): boolean =>
    MARKER_PATTERNS.some(event, (marker, end) => MARKERS[marker] !== NAMED && isRelevant(event, MARKERS[marker]!, end));

  function read(event: Buffer): EventMeaning {
    if (!matters(event)) return 'pass';
    const { name, data } = eventFields(event);
    if (name === 'error') return 'error';
    if (data === null || !hasMore(event)) return 'pass';
    if (data.equals(DONE)) {
      isUsageFinal ||= usage !== null;
      hasEnded = true;
      return 'done';
    }
    const mayHoldMedia = !hasEnded && holdsMedia(event);
    const mayHoldMessage = MESSAGE_PATTERN.some(event, (_, end) => isRelevant(event, MESSAGE, end));
    const chunk = parseJson(data.toString('utf8'));
    if (!isRecord(chunk)) return 'pass';
    if (chunk.error || chunk.object === 'error') return 'error';
    const choices = Array.isArray(chunk.choices) ? chunk.choices : [];
    if (mayHoldMedia) {
      if (typeof chunk.model === 'string') model = chunk.model;
      for (const key of audioKeys(choices)) audio.add(key);
      media.add(choices);
    }
    if (mayHoldMessage) noteMessages(choices, data);
    for (const [place, choice] of choices.entries()) noteChoice(choice, place);
    serviceTier = chunk.service_tier ?? serviceTier;
    if (!hasEnded) shown.add(chunk);
    const ofGroq = isRecord(chunk.x_groq) ? chunk.x_groq : chunk;
    shownRounds = Math.max(
      shownRounds,
      roundsOutsideUsage((name) => chunk[name] ?? ofGroq[name]),
    );
    const used = chunk.usage ?? (ofGroq === chunk ? usageOfChoices(choices) : ofGroq.usage);
    const meaning = choices.some((choice) => isRecord(choice) && choice.finish_reason === 'error') ? 'error' : 'pass';
    if (!isRecord(used)) {
      // Reads usage again, because more tool uses may have appeared since it was reported.
      if (usage !== null) usage = readUsage();
      return meaning;
    }
    reported = greatestFigures(reported, used);
    reports.note(used);
    usage = readUsage();
    const isUsageOnly = choices.length === 0;
    hasUsageChunk ||= isUsageOnly;
    // Usage with every chunk is final when all choices are finished. Some providers ignore `n`: one suffices for a chunk with only usage.
    const hasFigures = usage !== null && totalTokens(usage) > 0;
    isUsageFinal ||= hasFigures && (finished.size >= options.choices || (isUsageOnly && finished.size > 0));
    return options.dropsUsageChunk && isUsageOnly ? 'drop' : meaning;
  }

  function readUsage(): Usage | null {
    return readChatUsage(options.restate === undefined ? reported : options.restate(reported), {
      serviceTier,
      asksForSearch,
      shown: shown.uses(),
      shownRounds,
      outputTokensMax,
    });
  }

  function noteChoice(choice: unknown, place: number): void {
    if (!isRecord(choice) || typeof choice.finish_reason !== 'string' || choice.finish_reason === '') return;
    finished.add(typeof choice.index === 'number' ? choice.index : place);
  }

  function noteMessages(choices: readonly unknown[], data: Buffer): void {
    hasDeltas = choices.some((choice) => isRecord(choice) && isRecord(choice.delta) && holdsText(choice.delta));
    if (hasDeltas) return;
    const text = new WrittenText(COMPLETION_TEXT, false);
    text.add(data);
    repeatedTextBytes = Math.max(repeatedTextBytes, text.sizeBytes);
  }

  return {
    matters,
    written: options.echoes === true ? null : streamedChatText(),
    get repeatedTextBytes() {
      return repeatedTextBytes;
    },
    outputReports: reports,
    read,
    usage: () => (isUsageFinal ? usage : null),
    partialUsage() {
      if (usage !== null) return usage;
      const servedOn = readTerms({ service_tier: serviceTier }, ['serviceTier']);
      const uses = chatToolUses(isRecord(reported) ? reported : {}, { asksForSearch, shown: shown.uses() });
      const serverToolUses = sumCounts(uses);
      if (servedOn === undefined && serverToolUses === 0) return null;
      return { ...noUsage, ...uses, serverToolUses, ...(servedOn && { servedOn }) };
    },
    get hasOutputEnd() {
      return isUsageFinal || finished.size >= options.choices;
    },
    mediaTokens: () => media.tokens(model),
    notePart: (part, isLast) => media.addPart(part, isLast),
    continuationKeys: () => [...audio],
    get canEndHere() {
      // Some compatible providers send no `[DONE]`.
      return finished.size > 0 || hasUsageChunk;
    },
  };
}

/** Returns usage from the choices: Moonshot reports it in the choice that finishes. */
function usageOfChoices(choices: readonly unknown[]): unknown {
  const choice = choices.find((each) => isRecord(each) && isRecord(each.usage));
  return isRecord(choice) ? choice.usage : undefined;
}

function holdsText(delta: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(delta).some(([name, value]) => name !== 'role' && typeof value === 'string' && value !== '');
}

const OPEN_BRACE = 0x7b;
const LETTER_N = 0x6e;
const QUOTE = 0x22;
