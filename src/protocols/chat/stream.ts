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
 * Streams of the chat protocol: `data:` lines without event names; with `include_usage` every chunk has `usage: null`
 * but the last, which has no choices; then `[DONE]`. An error is a chunk with an `error`, an event of that name, an object that
 * is an `error` (vLLM), or a choice that finishes with `error` (Mistral, OpenRouter); some servers send `[DONE]` behind it.
 */
export interface ChatStreamOptions extends ChatResponseOptions {
  /** The gateway asked for usage, not the client: the chunk that has nothing else is taken out. */
  readonly dropsUsageChunk: boolean;
  /** The number of choices that were asked for (`n`); the output has ended when each of them has. */
  readonly choices: number;
  /** The call asks for a tier of service: which one it was served on is read before the end, since the stream may not reach it. */
  readonly asksForTier?: boolean;
  readonly restate?: RestateUsage | undefined;
}

const USAGE = Buffer.from('"usage"');
const DONE = Buffer.from('[DONE]');
const ERROR = Buffer.from('"error"');
const NAMED = Buffer.from('event:');
const AUDIO = Buffer.from('"audio"');
const FINISH = Buffer.from('"finish_reason"');
const TIER = Buffer.from('"service_tier"');
const MESSAGE = Buffer.from('"message"');
/** What an event may have that is read. */
const SIGNS = [MESSAGE, USAGE, FINISH, ERROR, TIER, AUDIO, DONE, NAMED, ...PICTURE_MARKS, ...TOOL_MARKS];
const SIGN_PATTERNS = new BytePatterns(SIGNS);
const MESSAGE_PATTERN = new BytePatterns([MESSAGE]);

export function readChatStream(options: ChatStreamOptions): StreamReading {
  let reported: unknown = null;
  const reports = new OutputReports();
  let usage: Usage | null = null;
  /** As the last chunk that was read reports it; each chunk has it. */
  let serviceTier: unknown;
  let isUsageFinal = false;
  let hasEnded = false;
  let hasUsageChunk = false;
  /** The text of a message in the place of a delta, which has all that came before; not measured where a delta had some. */
  let repeatedTextBytes = 0;
  let hasDeltas = false;
  /** The choices that have finished. */
  const finished = new Set<number>();
  const audio = new Set<string>();
  const shown = shownTools(options.offersTools === true);
  /** The rounds that events show elsewhere. */
  let shownRounds = 0;
  const { asksForSearch = false, outputTokensMax } = options;
  const media = chatMedia(options.audioFormat ?? null);
  /** The model as the provider calls it. */
  let model: string | null = null;

  const holdsMedia = (bytes: Buffer): boolean =>
    (options.hasAudio === true && bytes.includes(AUDIO)) || PICTURE_MARKS.some((mark) => bytes.includes(mark));

  /** Whether what stands at its end makes a sign one of what is read. What comes behind the end is not delivered, but for its usage. */
  function isSign(bytes: Buffer, sign: Buffer, end: number): boolean {
    const value = valueStart(bytes, end);
    // Null stands for nothing, also until there is something.
    const hasValue = value !== -1 && bytes[value] !== LETTER_N;
    switch (sign) {
      case USAGE:
        return hasValue;
      case FINISH:
        // Some providers send an empty reason until there is one.
        return finished.size < options.choices && bytes[value] === QUOTE && bytes[value + 1] !== QUOTE;
      case ERROR:
        // As a key, or as the value of another one.
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
        return PICTURE_MARKS.includes(sign) ? !hasEnded : shown.isSign(bytes, sign);
    }
  }

  const matters = (run: Buffer): boolean => SIGN_PATTERNS.some(run, (sign, end) => isSign(run, SIGNS[sign]!, end));
  /** Whether an event has more than the name of a field, which may also be a part of its text. */
  const hasMore = (event: Buffer): boolean =>
    SIGN_PATTERNS.some(event, (sign, end) => SIGNS[sign] !== NAMED && isSign(event, SIGNS[sign]!, end));

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
    const mayHoldMessage = MESSAGE_PATTERN.some(event, (_, end) => isSign(event, MESSAGE, end));
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
      // Uses of tools may be shown behind the usage.
      if (usage !== null) usage = readUsage();
      return meaning;
    }
    reported = greatestFigures(reported, used);
    reports.note(used);
    usage = readUsage();
    const isUsageOnly = choices.length === 0;
    hasUsageChunk ||= isUsageOnly;
    // Some providers report figures with every chunk; those before the end are not final. Some ignore `n`.
    // Zeros stand for figures that are still to come.
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

  /** Some relays send a whole response as the only event of a stream. */
  function noteMessages(choices: readonly unknown[], data: Buffer): void {
    hasDeltas = choices.some((choice) => isRecord(choice) && isRecord(choice.delta) && holdsText(choice.delta));
    if (hasDeltas) return;
    const text = new WrittenText(COMPLETION_TEXT, false);
    text.add(data);
    repeatedTextBytes = Math.max(repeatedTextBytes, text.sizeBytes);
  }

  return {
    matters,
    written: streamedChatText(),
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
      // Some compatible providers leave `[DONE]` out; a finish reason or the final usage says as much.
      return finished.size > 0 || hasUsageChunk;
    },
  };
}

/** Dialect: Moonshot states the usage in the choice that finishes, and only if it is asked for once more beside it. */
function usageOfChoices(choices: readonly unknown[]): unknown {
  const choice = choices.find((each) => isRecord(each) && isRecord(each.usage));
  return isRecord(choice) ? choice.usage : undefined;
}

/** Whether a delta has a text of its own. */
function holdsText(delta: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(delta).some(([name, value]) => name !== 'role' && typeof value === 'string' && value !== '');
}

const OPEN_BRACE = 0x7b;
const LETTER_N = 0x6e;
const QUOTE = 0x22;
