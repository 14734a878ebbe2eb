import { BytePatterns } from '../../lib/byte-patterns.ts';
import { isRecord, parseJson } from '../../lib/json/json.ts';
import { type JsonParts, parseJsonParts } from '../../lib/json/json-parts.ts';
import { eventFields, startsWith } from '../../lib/sse/event-fields.ts';
import { EVENT_BYTES_MAX } from '../../lib/sse/sse.ts';
import { valueStart } from '../metering/estimate.ts';
import { greatestFigures } from '../metering/greatest-figures.ts';
import type { RestateUsage } from '../metering/input-with-cache.ts';
import { base64Size, pictureTokens, soundTokens } from '../metering/media-tokens.ts';
import { OutputReports } from '../metering/plausible-usage.ts';
import type { EventMeaning, StreamReading } from '../metering/stream-reading.ts';
import { noUsage, type Usage } from '../metering/usage-facts.ts';
import { TOOL_USES_MAX } from '../metering/usage-units.ts';
import { WrittenText } from '../metering/written-text.ts';
import { ResponseContinuationKeys } from './continuation-keys.ts';
import { billedToolUses, citesPages, isSearch, NO_CONTAINERS, serverToolCalls } from './tool-uses.ts';
import { IMAGE_MODEL, type ResponsesUsageContext, readResponsesUsage } from './usage.ts';
import { LAST_EVENT_TEXT, streamedResponseText } from './written.ts';

/** Last event of some providers, whatever the result is. */
const DONE = 'response.done';

/**
 * A responses stream has named events whose data repeats the name as `type`. Clients read `type`, so the name counts only if that is
 * missing. The last event has the whole response with usage, or is an `error`. The protocol has no `[DONE]`; if one comes, it is forwarded.
 */
const TERMINAL = ['response.completed', 'response.incomplete', 'response.failed', DONE];
const ITEM_DONE = 'response.output_item.done';
const CITED = 'response.output_text.annotation.added';
const AUDIO = ['response.audio.delta', 'response.output_audio.delta'];
const neededNames = [...TERMINAL, ...AUDIO].map((name) => Buffer.from(name));
const namesThatMatter = [
  ...neededNames,
  ...['response.created', ITEM_DONE, CITED, 'error'].map((name) => Buffer.from(name)),
];

/** Within this many bytes, an event has its own `type`, which vendors put first. */
const BEGINNING_BYTES = 1024;

const TYPE = Buffer.from('"type"');
const NAME = Buffer.from('event:');
const ERROR = Buffer.from('"error"');
const ENCRYPTED = Buffer.from('"encrypted_content"');

const ITEM: JsonParts = {
  type: true,
  id: true,
  encrypted_content: true,
  status: true,
  quality: true,
  name: true,
  execution: true,
  action: { type: true, query: true, queries: true },
  container_id: true,
  environment: { container_id: true },
  content: { annotations: { type: true, file_id: true, container_id: true } },
};

const PICTURE = 'image_generation_call';

/** What to read of the last event. It repeats the output, which can have images of several megabytes. */
const READ: JsonParts = {
  type: true,
  error: true,
  delta: true,
  item: ITEM,
  response: {
    id: true,
    status: true,
    usage: true,
    service_tier: true,
    tool_usage: true,
    server_side_tool_usage: true,
    output: ITEM,
  },
};

/** Parses data. Of large events, it reads parts only, which takes a quarter of the time if they contain an image. */
function parseData(data: Buffer): unknown {
  return data.length > EVENT_BYTES_MAX ? parseJsonParts(data, READ) : parseJson(data.toString('utf8'));
}

/** Ending of events that complete a part of the output, such as `response.output_text.done`. */
const PART_END = Buffer.from('.done');
const ITEM_END = /^event: ?response\..+\.done\r?$|"type"\s*:\s*"response\.[^"]+\.done"/m;
const PART_END_TYPE = /^response\..+\.done$/;

/** Patterns of events that must be parsed. All others are forwarded unread. */
const MARKERS = [TYPE, NAME, ERROR, ENCRYPTED, PART_END];
const MARKER_PATTERNS = new BytePatterns(MARKERS);
const NAME_PATTERNS = new BytePatterns([TYPE, NAME]);

const CITING = [{ type: 'message', content: [{ annotations: [{ type: 'url_citation' }] }] }];

interface ResponsesStreamOptions extends ResponsesUsageContext {
  readonly keepsItems: boolean;
  readonly restate?: RestateUsage | undefined;
}

export function readResponsesStream(
  { keepsItems, restate, ...context }: ResponsesStreamOptions = { keepsItems: true },
): StreamReading {
  const continuationKeys = new ResponseContinuationKeys(keepsItems);
  let reported: unknown = null;
  let usage: Usage | null = null;
  let hasOutputEnd = false;
  let hasEnded = false;
  const calls: Readonly<Record<string, unknown>>[] = [];
  let hasCitations = false;
  const reports = new OutputReports();
  let repeatedTextBytes = 0;
  let audioCharacters = 0;
  let pictureOutput = 0;

  /** Whether an event must be parsed because of a pattern in it that ends at `end`. */
  function isRelevant(run: Buffer, marker: Buffer, end: number): boolean {
    switch (marker) {
      case TYPE:
        return isTypeAt(run, end, namesThatMatter);
      case NAME:
        return isNameAt(run, end, namesThatMatter);
      case ERROR: {
        // `error` is null, except in a failed response.
        const value = valueStart(run, end);
        return value !== -1 && run[value] !== LETTER_N;
      }
      case PART_END:
        return !hasOutputEnd;
      default:
        return true;
    }
  }

  function read(event: Buffer): EventMeaning {
    const { name, data } = eventFields(event);
    const body = data === null ? undefined : parseData(data);
    if (!isRecord(body)) return name === 'error' ? 'failed' : 'pass';
    const type = body.type ?? name;
    hasOutputEnd ||= typeof type === 'string' && PART_END_TYPE.test(type);
    switch (type) {
      case 'response.created':
        if (isRecord(body.response)) continuationKeys.addResponse(body.response.id);
        return 'pass';
      case ITEM_DONE:
        if (hasEnded) return 'pass';
        continuationKeys.addItem(body.item);
        if (isRecord(body.item)) noteItem(body.item);
        return 'pass';
      case CITED:
        hasCitations ||= !hasEnded && citesPages([{ content: [{ annotations: [body.annotation] }] }]);
        return 'pass';
      case 'response.audio.delta':
      case 'response.output_audio.delta':
        if (!hasEnded && typeof body.delta === 'string') audioCharacters += body.delta.length;
        return 'pass';
      case 'response.completed':
      case 'response.incomplete':
        end(body.response, data!);
        return 'terminal';
      case 'response.failed':
        end(body.response, data!);
        return 'failed';
      case DONE:
        end(body.response, data!);
        return isRecord(body.response) && body.response.status === 'failed' ? 'failed' : 'terminal';
      case 'error':
        return 'failed';
      case null:
        // An error in the format of chat, which compatible providers use at all endpoints.
        return body.error ? 'failed' : 'pass';
      default:
        return 'pass';
    }
  }

  function noteItem(item: Readonly<Record<string, unknown>>): void {
    const { type, status, quality, action, container_id, environment } = item;
    hasCitations ||= citesPages([item]);
    if (type === PICTURE && status !== 'failed')
      pictureOutput += pictureTokens(typeof quality === 'string' ? quality : null);
    if (calls.length >= TOOL_USES_MAX || serverToolCalls([item]).length === 0) return;
    calls.push({
      type,
      status,
      // Custom tools that the provider runs differ from others only by their name.
      name: type === 'custom_tool_call' ? item.name : undefined,
      action: { type: isSearch(action) ? 'search' : 'other' },
      container_id,
      environment,
    });
  }

  /** Returns the tool uses so far, for a stream that has not reported usage. */
  function usesSoFar(): Usage | null {
    if (calls.length === 0 && !hasCitations) return null;
    const output = calls.length === 0 ? CITING : calls;
    const uses = billedToolUses({ output }, {}, context.containerUse ?? NO_CONTAINERS);
    return { ...noUsage, ...uses, serverToolUses: calls.length };
  }

  function end(response: unknown, data: Buffer): void {
    hasEnded = true;
    if (!isRecord(response)) return;
    const text = new WrittenText(LAST_EVENT_TEXT, false);
    text.add(data);
    repeatedTextBytes = text.sizeBytes;
    reported = greatestFigures(reported, response.usage);
    reports.note(response.usage);
    usage = readResponsesUsage(restate === undefined ? reported : restate(reported), response, context);
    continuationKeys.addResponse(response.id);
    continuationKeys.addOutput(response.output);
  }

  return {
    matters: (run) => MARKER_PATTERNS.some(run, (marker, end) => isRelevant(run, MARKERS[marker]!, end)),
    written: streamedResponseText(),
    get repeatedTextBytes() {
      return repeatedTextBytes;
    },
    outputReports: reports,
    read,
    mediaTokens() {
      const usage = { ...noUsage, imageOutputTokens: pictureOutput };
      return {
        audioOutputTokens: soundTokens({ sizeBytes: base64Size(audioCharacters), format: null, model: null }),
        imageOutputTokens: 0,
        ...(pictureOutput > 0 && { parts: [{ model: IMAGE_MODEL, isInside: false, usage }] }),
      };
    },
    usage: () => usage,
    partialUsage: usesSoFar,
    get hasOutputEnd() {
      return hasOutputEnd;
    },
    noteLarge(beginning) {
      // An item with an image is not parsed, but it ends a part of the output.
      const text = beginning.toString('latin1', 0, BEGINNING_BYTES);
      hasOutputEnd ||= ITEM_END.test(text);
      if (text.includes(ITEM_DONE) && text.includes(PICTURE)) pictureOutput += pictureTokens(null);
    },
    canEndHere: false,
    isNeededWhole: (beginning) => isNamed(beginning.subarray(0, BEGINNING_BYTES), neededNames),
    continuationKeys: () => continuationKeys.keys(),
  };
}

const QUOTE = 0x22;
const SPACE = 0x20;
const LF = 0x0a;
const CR = 0x0d;
const LETTER_N = 0x6e;

/** Whether one of these names is the `type` or the name of an event. In text, quotes are escaped, so text does not match. */
function isNamed(bytes: Buffer, names: readonly Buffer[]): boolean {
  return NAME_PATTERNS.some(bytes, (pattern, end) =>
    pattern === 0 ? isTypeAt(bytes, end, names) : isNameAt(bytes, end, names),
  );
}

function isTypeAt(bytes: Buffer, keyEnd: number, names: readonly Buffer[]): boolean {
  const value = valueStart(bytes, keyEnd);
  if (value === -1 || bytes[value] !== QUOTE) return false;
  for (const name of names) {
    if (startsWith(bytes, value + 1, name) && bytes[value + 1 + name.length] === QUOTE) return true;
  }
  return false;
}

function isNameAt(bytes: Buffer, end: number, names: readonly Buffer[]): boolean {
  const value = bytes[end] === SPACE ? end + 1 : end;
  for (const name of names) if (startsWith(bytes, value, name) && isLineEnd(bytes[value + name.length])) return true;
  return false;
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LF || byte === CR || byte === undefined;
}
