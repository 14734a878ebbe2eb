import { isRecord, parseJson } from '../../lib/json.ts';
import { eventData, eventName } from '../../lib/sse.ts';
import { textKeys, valueStart } from '../../metering/estimate.ts';
import type { EventMeaning, StreamReading } from '../../metering/tap.ts';
import type { Usage } from '../../metering/usage-facts.ts';
import { readChatUsage } from './usage.ts';

/**
 * Streams of the chat protocol (wire facts 1.4): `data:` lines without event names; with `include_usage` every chunk has
 * `usage: null` but the last, which has no choices; then `[DONE]`. An error is a chunk with an `error`, or an event of
 * that name (1.5).
 */
export interface ChatStreamOptions {
  /** The gateway asked for usage, not the client: the chunk that holds nothing else is taken out (design 5.14). */
  readonly dropsUsageChunk: boolean;
}

const USAGE = Buffer.from('"usage"');
const DONE = Buffer.from('[DONE]');
const ERROR = Buffer.from('"error"');
const NAMED = Buffer.from('event:');
const FINISH = Buffer.from('"finish_reason"');
const STREAMED_TEXT = textKeys('content', 'reasoning_content', 'reasoning', 'refusal', 'arguments');

export function readChatStream(options: ChatStreamOptions): StreamReading {
  let usage: Usage | null = null;
  let hasFinished = false;

  function read(event: Buffer): EventMeaning {
    if (!hasFinished && hasFinishReason(event)) hasFinished = true;
    if (event.includes(NAMED) && eventName(event) === 'error') return 'error';
    const mayHoldUsage = hasValueAfter(event, USAGE);
    const mayHoldError = hasValueAfter(event, ERROR);
    if (!mayHoldUsage && !mayHoldError && !event.includes(DONE)) return 'pass';

    const data = eventData(event);
    if (data === '[DONE]') return 'terminal';
    if (data === null || (!mayHoldUsage && !mayHoldError)) return 'pass';
    const chunk = parseJson(data);
    if (!isRecord(chunk)) return 'pass';
    if (chunk.error) return 'error';
    const reported = chunk.usage ?? (isRecord(chunk.x_groq) ? chunk.x_groq.usage : undefined);
    if (reported === undefined || reported === null) return 'pass';
    usage = readChatUsage(reported) ?? usage;
    const isUsageOnly = !Array.isArray(chunk.choices) || chunk.choices.length === 0;
    return options.dropsUsageChunk && isUsageOnly ? 'drop' : 'pass';
  }

  return {
    matters: (run) =>
      hasValueAfter(run, USAGE) ||
      hasFinishReason(run) ||
      hasValueAfter(run, ERROR) ||
      run.includes(DONE) ||
      run.includes(NAMED),
    textKeys: STREAMED_TEXT,
    read,
    usage: () => usage,
    partialUsage: () => null,
    get canEndHere() {
      // Some compatible providers leave `[DONE]` out; a finish reason or the final usage says as much.
      return hasFinished || usage !== null;
    },
  };
}

const LETTER_N = 0x6e;
const QUOTE = 0x22;

/** Whether a choice has finished; some providers send an empty reason, or null, until then. */
function hasFinishReason(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(FINISH); at !== -1; at = bytes.indexOf(FINISH, at + FINISH.length)) {
    const value = valueStart(bytes, at + FINISH.length);
    if (bytes[value] === QUOTE && bytes[value + 1] !== QUOTE) return true;
  }
  return false;
}

/** Whether the key stands there with a value other than null. Tells without parsing that nothing is to be read. */
function hasValueAfter(event: Buffer, key: Buffer): boolean {
  for (let at = event.indexOf(key); at !== -1; at = event.indexOf(key, at + key.length)) {
    const value = valueStart(event, at + key.length);
    if (value !== -1 && event[value] !== LETTER_N) return true;
  }
  return false;
}
