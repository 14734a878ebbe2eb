import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { isRecord } from '../../src/lib/json/json.ts';
import { readChatStream } from '../../src/protocols/chat/stream.ts';
import { readImagesStream } from '../../src/protocols/images/stream.ts';
import { readMessagesStream } from '../../src/protocols/messages/stream.ts';
import type { StreamReading } from '../../src/protocols/metering/stream-reading.ts';
import { StreamTap } from '../../src/protocols/metering/tap.ts';
import { noUsage, type Usage, type UsageFacts } from '../../src/protocols/metering/usage-facts.ts';
import { encryptedContinuationKey, responseContinuationKey } from '../../src/protocols/responses/continuation-keys.ts';
import { readResponsesStream } from '../../src/protocols/responses/stream.ts';
import { signedKey } from '../../src/protocols/signed-blocks.ts';
import { stateKey } from '../../src/protocols/state-references.ts';

const itemKeys = (...ids: readonly string[]): string[] => ids.map((id) => stateKey({ kind: 'item', id }));

/** Recorded streams (`test/fixtures/streams`), their known contents, and the tap that reads them. */

export type Protocol = 'chat' | 'messages' | 'responses' | 'images';

/** The findings of a tap at the end of a stream. */
export interface Outcome {
  readonly usage: UsageFacts | null;
  /** The estimate for the relayed text. */
  readonly textTokens: number;
  readonly continuationKeys: readonly string[];
  readonly hasError: boolean;
  /** Whether the stream is complete if its connection broke, and if it ended by itself. */
  readonly isComplete: readonly [broken: boolean, ended: boolean];
}

export interface RecordedStream {
  readonly name: string;
  readonly protocol: Protocol;
  /** Verbatim events with LF line ends, including empty lines. */
  readonly events: readonly string[];
  /** Indexes of the events that the tap removes, in which the provider fails, and that ends the stream. */
  readonly dropped: number | null;
  readonly failing: number | null;
  readonly record: number | null;
  readonly outcome: Outcome;
  reading(): StreamReading;
}

/** Size of the request, for estimates. */
export const INPUT_TOKENS_ESTIMATE = 999;

interface Known {
  readonly name: string;
  /** The usage that the provider reported, if any. */
  readonly observed?: Partial<Usage>;
  /** For a stream without final usage: the known part of its input. */
  readonly partial?: Partial<Usage>;
  /** Positions of events, counted from the end: 1 is the last. */
  readonly dropped?: number;
  readonly failing?: number;
  readonly record?: number;
  readonly continuationKeys?: readonly string[];
  /** For a stream without a final event: whether it may end by itself. */
  readonly mayEnd?: boolean;
  readonly reading?: () => StreamReading;
}

const chatEnd = { dropped: 2, record: 1 };
const simulated = { inputTokens: 41, outputTokens: 23 };
const landscape = { quality: 'medium', size: '1536x1024', count: 1 };
const asked = { quality: 'auto', size: null };
const generation = () => readImagesStream({ ...asked, count: 1 }, 'tokens');

/** Figures were added up by hand from the files. */
const known: readonly Known[] = [
  { name: 'chat-simulator-text', observed: simulated, ...chatEnd },
  { name: 'chat-simulator-tools', observed: simulated, ...chatEnd },
  {
    name: 'chat-openai-text',
    observed: {
      inputTokens: 55,
      cachedInputTokens: 1024,
      cacheWriteTokens: 128,
      outputTokens: 61,
      reasoningTokens: 20,
      servedOn: { serviceTier: 'default' },
    },
    ...chatEnd,
  },
  { name: 'chat-openai-two-choices', observed: { inputTokens: 14, outputTokens: 30 }, ...chatEnd },
  { name: 'chat-openai-parallel-tools', observed: { inputTokens: 310, outputTokens: 48 }, ...chatEnd },
  { name: 'chat-azure', observed: { inputTokens: 25, outputTokens: 9 }, ...chatEnd },
  {
    name: 'chat-deepseek-reasoning',
    observed: { inputTokens: 52, cachedInputTokens: 448, outputTokens: 77, reasoningTokens: 60 },
    record: 1,
  },
  { name: 'chat-moonshot', observed: { inputTokens: 27, cachedInputTokens: 64, outputTokens: 12 }, ...chatEnd },
  { name: 'chat-groq', observed: { inputTokens: 38, outputTokens: 21 }, record: 1 },
  { name: 'chat-usage-on-every-chunk', observed: { inputTokens: 60, outputTokens: 7 }, dropped: 1, mayEnd: true },
  { name: 'chat-without-usage', record: 1 },
  { name: 'chat-error', failing: 1 },
  { name: 'messages-simulator-think', observed: simulated, record: 1 },
  { name: 'messages-simulator-tools', observed: simulated, record: 1 },
  {
    name: 'messages-thinking-tools',
    observed: {
      inputTokens: 12,
      cachedInputTokens: 4000,
      cacheWriteTokens: 300,
      cacheWrite1hTokens: 600,
      outputTokens: 89,
      reasoningTokens: 40,
      servedOn: { serviceTier: 'standard' },
    },
    record: 1,
  },
  {
    name: 'messages-web-search',
    observed: { inputTokens: 10_682, outputTokens: 510, webSearches: 1, serverToolUses: 1 },
    record: 1,
  },
  {
    name: 'messages-compaction',
    observed: {
      inputTokens: 50_180,
      cachedInputTokens: 50,
      outputTokens: 922,
      compactions: 1,
      parts: [
        { model: null, isInside: true, usage: { ...noUsage, inputTokens: 50_000, outputTokens: 900, compactions: 1 } },
        { model: null, isInside: true, usage: { ...noUsage, inputTokens: 180, outputTokens: 22 } },
      ],
    },
    record: 1,
  },
  { name: 'messages-error', partial: { inputTokens: 77, cachedInputTokens: 11, outputTokens: 2 }, failing: 1 },
  {
    name: 'responses-simulator-think',
    observed: simulated,
    record: 1,
    continuationKeys: [
      responseContinuationKey('resp-BDCfWeTjhXNr-3jB'),
      ...itemKeys('rs-CyJsXGWY17Ov-NDC', 'msg-ENfCjJ1LePj3g7kM'),
    ],
  },
  {
    name: 'responses-simulator-tools',
    observed: simulated,
    record: 1,
    continuationKeys: [
      responseContinuationKey('resp-F2NymJqby9ppXm5a'),
      ...itemKeys('msg-XiBTSOyG68sshoy-', 'fc-z-ZahpdVgZ7aWykN', 'fc-X6v3ggcRxlKzI4xN'),
    ],
  },
  {
    name: 'responses-reasoning-tools',
    observed: {
      inputTokens: 440,
      cachedInputTokens: 2048,
      cacheWriteTokens: 500,
      cacheWrite1hTokens: 12,
      outputTokens: 150,
      reasoningTokens: 64,
    },
    record: 1,
    continuationKeys: [
      responseContinuationKey('resp_written01'),
      signedKey('gAAAAABwcml0dGVu/+reasoning=='),
      ...itemKeys('rs_1', 'fc_1', 'msg_1'),
    ],
  },
  {
    name: 'responses-image',
    observed: { inputTokens: 90, outputTokens: 12, serverToolUses: 1 },
    record: 2,
    continuationKeys: [responseContinuationKey('resp_written02'), ...itemKeys('ig_1')],
  },
  {
    name: 'responses-compaction',
    observed: { inputTokens: 20_000, cachedInputTokens: 100_000, outputTokens: 2000 },
    record: 1,
    continuationKeys: [
      responseContinuationKey('resp_written03'),
      encryptedContinuationKey('Y29tcGFjdGlvbiDkuK3mloc='.repeat(20)),
      ...itemKeys('cmp_1'),
    ],
  },
  {
    name: 'responses-incomplete',
    observed: { inputTokens: 33, outputTokens: 16, reasoningTokens: 8 },
    record: 1,
    continuationKeys: [responseContinuationKey('resp_written04'), ...itemKeys('msg_1')],
  },
  { name: 'responses-failed', failing: 1, record: 1, continuationKeys: [responseContinuationKey('resp_written05')] },
  { name: 'responses-error', failing: 1, record: 1, continuationKeys: [responseContinuationKey('resp_written06')] },
  {
    name: 'images-generation',
    observed: { inputTokens: 20, imageOutputTokens: 1568, images: [landscape] },
    record: 1,
    reading: generation,
  },
  {
    name: 'images-edit-two',
    observed: {
      inputTokens: 36,
      imageInputTokens: 776,
      imageOutputTokens: 5216,
      images: [landscape, { ...landscape, quality: 'high' }],
    },
    record: 1,
    reading: () => readImagesStream({ ...asked, count: 2 }, 'tokens'),
  },
  { name: 'images-error', failing: 1, record: 1, reading: generation },
];

const readings: Readonly<Record<Exclude<Protocol, 'images'>, () => StreamReading>> = {
  chat: () => readChatStream({ dropsUsageChunk: true, choices: 1 }),
  messages: readMessagesStream,
  responses: readResponsesStream,
};

function recordedStream(fixture: Known): RecordedStream {
  const protocol = fixture.name.split('-')[0] as Protocol;
  const text = readFileSync(new URL(`../fixtures/streams/${fixture.name}.sse`, import.meta.url), 'utf8');
  const events = text.split(/(?<=\n\n)/);
  const place = (fromEnd: number | undefined): number | null =>
    fromEnd === undefined ? null : events.length - fromEnd;
  const record = place(fixture.record);
  const textTokens = Math.ceil(streamedBytes(events.slice(0, (record ?? events.length) + 1), protocol) / 4);
  return {
    name: fixture.name,
    protocol,
    events,
    dropped: place(fixture.dropped),
    failing: place(fixture.failing),
    record,
    outcome: {
      usage: usageOf(fixture, protocol, textTokens),
      textTokens,
      continuationKeys: fixture.continuationKeys ?? [],
      hasError: fixture.failing !== undefined,
      isComplete: [record !== null, record !== null || fixture.mayEnd === true],
    },
    reading: fixture.reading ?? readings[protocol as Exclude<Protocol, 'images'>],
  };
}

function usageOf({ observed, partial, failing }: Known, protocol: Protocol, textTokens: number): UsageFacts | null {
  if (observed !== undefined) return { ...noUsage, ...observed, source: 'observed' };
  if (protocol === 'images' || (failing !== undefined && textTokens === 0)) return null;
  const input = partial ?? { inputTokens: INPUT_TOKENS_ESTIMATE, outputTokens: 0 };
  const outputTokens = Math.max(input.outputTokens ?? 0, textTokens);
  return { ...noUsage, ...input, outputTokens, source: 'estimated' };
}

/** The texts of an event by kind. `thought` and its encrypted form are the same reasoning. */
interface EventTexts {
  readonly text?: readonly unknown[];
  readonly thought?: unknown;
  readonly encrypted?: unknown;
}

type Body = Readonly<Record<string, unknown>>;
const bodyOf = (value: unknown): Body => (isRecord(value) ? value : {});
const bodiesOf = (value: unknown): Body[] => (Array.isArray(value) ? value.map(bodyOf) : []);

/** The model's output in an event, according to its protocol. */
const textsOf: Readonly<Record<Protocol, (body: Body) => readonly EventTexts[]>> = {
  chat: ({ choices }) =>
    bodiesOf(choices).map(({ delta: piece }) => {
      const delta = bodyOf(piece);
      const calls = bodiesOf(delta.tool_calls);
      return {
        text: [
          delta.content,
          delta.refusal,
          bodyOf(delta.audio).transcript,
          ...calls.flatMap((call) => [bodyOf(call.function).arguments, bodyOf(call.custom).input]),
        ],
        thought: delta.reasoning_content ?? delta.reasoning,
      };
    }),
  messages({ content_block, delta }) {
    const block = bodyOf(content_block);
    const isResult = String(block.type).endsWith('_result');
    return [isResult ? {} : block, bodyOf(delta)].map((part) => ({
      text: [part.text, part.content, part.partial_json],
      thought: part.thinking,
      encrypted: part.signature ?? part.data,
    }));
  },
  responses({ type, delta, item }) {
    if (type === 'response.output_item.done') return [{ encrypted: bodyOf(item).encrypted_content }];
    return [String(type).includes('reasoning') ? { thought: delta } : { text: [delta] }];
  },
  images: () => [],
};

export const recordedStreams: readonly RecordedStream[] = known.map(recordedStream);

/** The size of the text in complete events. Parses JSON, unlike the tap, which scans bytes. */
function streamedBytes(events: readonly string[], protocol: Protocol): number {
  const sizeOf = (value: unknown): number => (typeof value === 'string' ? Buffer.byteLength(value) : 0);
  const sum = { text: 0, thought: 0, encrypted: 0 };
  for (const event of events) {
    const data = /^data: (\{.*)$/m.exec(event)?.[1];
    if (data === undefined) continue;
    const body = bodyOf(JSON.parse(data));
    for (const { text = [], thought, encrypted } of textsOf[protocol](body)) {
      sum.text += text.reduce<number>((bytes, each) => bytes + sizeOf(each), 0);
      sum.thought += sizeOf(thought);
      sum.encrypted += sizeOf(encrypted);
    }
  }
  return sum.text + Math.max(sum.thought, Math.floor((sum.encrypted * 3) / 4));
}

/** Bytes forwarded before and at the end of a stream, the bytes identified as an error, and the findings. */
export interface Relayed {
  readonly forwarded: Buffer;
  readonly finished: Buffer;
  readonly errors: Buffer;
  /** After each chunk: how much of the stream was forwarded or removed. */
  readonly relayedBytes: readonly number[];
  readonly outcome: Outcome;
}

/** Feeds a stream to a tap. Asserts that nothing is forwarded after the end, and that no chunk is empty. */
export function relay(reading: StreamReading, chunks: Iterable<Buffer>): Relayed {
  const forwarded: Buffer[] = [];
  const finished: Buffer[] = [];
  const errors: Buffer[] = [];
  const relayedBytes: number[] = [];
  let bytesOut = 0;
  const to =
    (...sinks: readonly Buffer[][]) =>
    (bytes: Buffer): void => {
      assert.ok(bytes.length > 0, 'an empty piece');
      assert.ok(sinks.includes(finished) || finished.length === 0, 'a piece is forwarded after the end');
      bytesOut += bytes.length;
      for (const sink of sinks) sink.push(bytes);
    };
  let hidesUsage = false;
  const shown: StreamReading = Object.create(reading, {
    usage: { value: () => (hidesUsage ? null : reading.usage()) },
    partialUsage: { value: () => (hidesUsage ? null : reading.partialUsage()) },
    isNeverEstimated: { get: () => !hidesUsage && (reading.isNeverEstimated ?? false) },
  });
  const tap = new StreamTap(shown, {
    forward: to(forwarded),
    forwardError: to(forwarded, errors),
    finish: to(finished),
    finishError: to(finished, errors),
  });
  for (const chunk of chunks) {
    tap.push(chunk);
    relayedBytes.push(bytesOut);
  }
  tap.end();
  const usage = tap.usage.facts(INPUT_TOKENS_ESTIMATE);
  hidesUsage = true;
  const textTokens = tap.usage.facts(0)?.outputTokens ?? 0;
  return {
    forwarded: Buffer.concat(forwarded),
    finished: Buffer.concat(finished),
    errors: Buffer.concat(errors),
    relayedBytes,
    outcome: {
      usage,
      textTokens,
      continuationKeys: tap.continuationKeys(),
      hasError: tap.hasError,
      isComplete: [tap.isComplete(false), tap.isComplete(true)],
    },
  };
}

/**
 * Where the incomplete event begins with which a stream breaks off: lines without a closing empty line that name an event, or have data
 * that is neither JSON nor `[DONE]`. The length of the bytes if there is none. Reads text line by line, unlike the tap.
 */
export function halfEventStart(bytes: Buffer): number {
  const lines = bytes.toString('latin1').split(/(?<=\r\n|\r(?!\n)|\n)/);
  const start = lines.findLastIndex((line) => /^[\r\n]/.test(line)) + 1;
  const rest = lines.slice(start).join('');
  const fields = rest.replace(/^\xef\xbb\xbf/, '').split(/\r\n|\r|\n/);
  const values = (name: string): string[] =>
    fields.filter((line) => line === name || line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1));
  const data = values('data').map((value) => value.replace(/^ /, ''));
  const isWhole = data.length === 0 ? values('event').length === 0 : data.join('\n') === '[DONE]' || isJson(data);
  return isWhole ? bytes.length : bytes.length - rest.length;
}

function isJson(lines: readonly string[]): boolean {
  try {
    JSON.parse(Buffer.from(lines.join('\n'), 'latin1').toString());
    return true;
  } catch {
    return false;
  }
}

/**
 * The expected result of a stream that breaks off: the bytes before an incomplete event, and the same findings as without it, but
 * incomplete unless the stream had ended before.
 */
export function relayBrokenOff(
  read: () => StreamReading,
  bytes: Buffer,
): { readonly relayed: Relayed; readonly outcome: Outcome } {
  const start = halfEventStart(bytes);
  const whole = relay(read(), [bytes.subarray(0, start)]);
  const [hasEnded] = whole.outcome.isComplete;
  const isComplete = start === bytes.length ? whole.outcome.isComplete : ([hasEnded, hasEnded] as const);
  return { relayed: whole, outcome: { ...whole.outcome, isComplete } };
}

/** Everything forwarded from a stream, in order. */
export function outOf({ forwarded, finished }: Relayed): Buffer {
  return Buffer.concat([forwarded, finished]);
}

/** The chunks between these offsets, given in any order and with repetitions. */
export function cutAt(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  const cuts = [0, ...offsets.toSorted((left, right) => left - right), bytes.length];
  return cuts.slice(1).map((end, i) => bytes.subarray(cuts[i], end));
}

export function chunksOf(bytes: Buffer, size: number): Buffer[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}
