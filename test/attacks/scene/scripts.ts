import { embeddingList, imageEvent, imagesResult, imageUsage, rerankResult } from '../../support/endpoints.ts';
import { event } from '../../support/provider.ts';
import type { ProviderCall, Script } from './provider-call.ts';
import { chatUsageOf, compactionOf, responseOf, wireOf } from './wire.ts';

/** The provider's scripts. A word is a token, so that both sides count alike. */

const WORD = ' apple';
/** Content that the provider fetches and reads, once per occurrence of the text in a request. */
const FETCHED: readonly (readonly [text: string, tokens: number])[] = [
  ['"image_url":', 1_500],
  ['"file_url":', 5_000],
  ['"type":"web_search"', 8_000],
  ['"previous_response_id":', 30_000],
];
const OUTPUT_CAP_TOKENS = 32_000;

const NOTHING = { inputTokens: 0, outputTokens: 0, reasoningTokens: 0, images: 0, searchUnits: 0 };

/** Time between the last word of an output and its usage, long enough to disconnect. */
const BEFORE_USAGE_MS = 300;
/** Speed of hidden thinking: 2,500 tokens per second. */
const THOUGHT_TOKENS = 50;
const THOUGHT_MS = 20;
/** Duration of calls that have to be concurrent. */
const WORK_MS = 400;

export const scripts: Readonly<Record<string, Script>> = {
  /** A short response at once. */
  plain: (call) => response(call, words(3), inputOf(call), 3),

  /** A response after this many milliseconds. */
  async slow(call) {
    await call.pause(call.number);
    await response(call, words(3), inputOf(call), 3);
  },

  /** The error of Python servers for an unpaired surrogate. */
  error: (call) => call.sendJson(call.number, { error: { message: 'Internal error.', type: 'server_error' } }),

  /** Three tokens of this many mebibytes; in a stream, in the event with the usage. */
  async large(call) {
    Object.assign(call.used, { inputTokens: inputOf(call), outputTokens: 3 });
    const wire = wireOf(call.path);
    if (!call.isStream) {
      return call.sendPieces(
        'application/json',
        enlarged([JSON.stringify(wire.whole([TEXT], call.used))], call.number),
      );
    }
    const events = wire.stream([TEXT], call.used);
    const last = events.findLastIndex((text) => text.includes(wire.usageEvent));
    const [before, after] = [events.slice(0, last).map((text) => text.replaceAll(TEXT, WORD)), events.slice(last)];
    return call.sendPieces('text/event-stream', enlarged([...before, ...after], call.number));
  },

  /** A stream with this many tokens of hidden thinking, and three words. */
  async think(call) {
    const outputTokens = call.number + 3;
    Object.assign(call.used, { inputTokens: inputOf(call), reasoningTokens: call.number });
    const wire = wireOf(call.path);
    const events = wire.stream(words(3), { ...call.used, outputTokens });
    let isOutputEnded = false;
    for (const text of events) {
      if (isOutputEnded && text.includes(wire.usageEvent)) await call.pause(BEFORE_USAGE_MS);
      call.used.outputTokens = outputTokens;
      isOutputEnded ||= text.includes(wire.outputEnd);
      await call.event(text);
    }
    await call.endStream();
  },

  /** A stream whose first event comes after this many milliseconds, followed by a word every 20 ms for three seconds. */
  async late(call) {
    call.used.inputTokens = inputOf(call);
    await call.pause(call.number);
    await tell(call, 150, 20);
  },

  /** A stream with hidden thinking for this many milliseconds after its first event, and then three words. */
  async ponder(call) {
    const thoughts = Math.ceil(call.number / THOUGHT_MS) * THOUGHT_TOKENS;
    Object.assign(call.used, { inputTokens: inputOf(call), reasoningTokens: thoughts });
    const outputTokens = thoughts + 3;
    const events = wireOf(call.path).stream(words(3), { ...call.used, outputTokens });
    await call.event(events[0]!);
    while (call.used.outputTokens < thoughts) {
      await call.pause(THOUGHT_MS);
      call.used.outputTokens += THOUGHT_TOKENS;
    }
    call.used.outputTokens = outputTokens;
    for (const text of events.slice(1)) await call.event(text);
    await call.endStream();
  },

  /** A stream of this many visible words, one every 5 ms. */
  async speak(call) {
    call.used.inputTokens = inputOf(call);
    await tell(call, call.number, 5);
  },

  /** A stream of this many partial images and the final one. */
  async paint(call) {
    call.used.inputTokens = inputOf(call);
    for (let index = 0; index < call.number; index++) {
      await call.pause(50);
      call.used.outputTokens += 100;
      await call.event(imageEvent('image_generation', 'partial_image', { partial_image_index: index }));
    }
    await call.pause(BEFORE_USAGE_MS);
    call.used.outputTokens += 4_000;
    call.used.images = 1;
    const usage = imageUsage({ text: call.used.inputTokens, image: 0 }, call.used.outputTokens);
    await call.event(imageEvent('image_generation', 'completed', { usage }));
    await call.endStream();
  },

  /** Uses the maximum that vendors allow for the request: a limit of 0 is none, and multipliers multiply. */
  async all(call) {
    Object.assign(call.used, usedByVendor(call));
    await call.pause(WORK_MS);
    await report(call);
  },

  /** The real usage, followed by zeros. */
  zeros: (call) => trick(call, (events, usage) => [...events, usage, zeroed(call)]),
  /** `[DONE]` before the usage. */
  'done-first': (call) => trick(call, (events, usage) => [...events, 'data: [DONE]\n\n', usage]),
  /** Two terminal events, the first one without usage. */
  'two-ends': (call) => trick(call, (events, usage) => [...events, zeroed(call), usage]),
  /** An output count that decreases. */
  falling: (call) => trick(call, (events, usage) => [...events, usage, zeroed(call), event('message_stop')]),

  /** Reports the largest possible number of tokens. */
  async huge(call) {
    Object.assign(call.used, { inputTokens: 2_147_483_647, outputTokens: 2_147_483_647 });
    await report(call);
  },
};

/** Placeholder for the mebibytes of `large`. */
const TEXT = ' apples and pears ';
const FILLING = Buffer.alloc(2 ** 16, WORD);

function* enlarged(texts: readonly string[], mebibytes: number): Generator<string | Buffer> {
  for (const text of texts) {
    const [before, after] = text.split(TEXT);
    yield before!;
    if (after === undefined) continue;
    for (let bytes = 0; bytes < mebibytes * 2 ** 20; bytes += FILLING.length) yield FILLING;
    yield after;
  }
}

function words(count: number): string[] {
  return Array.from({ length: count }, () => WORD);
}

/** The words of a request, and other content that the provider reads because of it. */
function inputOf({ body }: ProviderCall): number {
  let count = 8;
  for (let at = body.indexOf(WORD); at !== -1; at = body.indexOf(WORD, at + WORD.length)) count++;
  return count;
}

async function response(call: ProviderCall, said: readonly string[], inputTokens: number, outputTokens: number) {
  Object.assign(call.used, { inputTokens, outputTokens });
  if (call.path.endsWith('/chat/completions') || call.path.endsWith('/messages') || call.path.endsWith('/responses')) {
    const wire = wireOf(call.path);
    if (!call.isStream) return call.sendJson(200, wire.whole(said, call.used));
    for (const text of wire.stream(said, call.used)) await call.event(text);
    return call.endStream();
  }
  return report(call);
}

/** A stream of visible words, each billed when it is sent. */
async function tell(call: ProviderCall, count: number, everyMs: number): Promise<void> {
  const events = wireOf(call.path).stream(words(count), { ...call.used, outputTokens: count });
  for (const text of events) {
    if (text.includes(WORD) && call.used.outputTokens < count) {
      await call.pause(everyMs);
      call.used.outputTokens++;
    }
    await call.event(text);
  }
  await call.endStream();
}

/** A non-streaming response with the given usage, in the format of the operation. */
function report(call: ProviderCall): Promise<void> {
  const { path, used } = call;
  if (path.endsWith('/embeddings')) {
    return call.sendJson(200, embeddingList({ prompt_tokens: used.inputTokens, total_tokens: used.inputTokens }));
  }
  if (path.endsWith('/rerank')) {
    const units = { meta: { billed_units: { search_units: used.searchUnits } } };
    return call.sendJson(200, rerankResult({ usage: { total_tokens: used.inputTokens }, ...units }));
  }
  if (path.includes('/images/')) {
    const usage = imageUsage({ text: used.inputTokens, image: 0 }, used.outputTokens);
    return call.sendJson(200, imagesResult(used.images, { usage }));
  }
  if (path.endsWith('/compact')) {
    return call.sendJson(200, compactionOf(used));
  }
  return call.sendJson(200, wireOf(path).whole(words(3), used));
}

function usedByVendor(call: ProviderCall): Partial<ProviderCall['used']> {
  const { path } = call;
  if (path.endsWith('/images/edits')) return { inputTokens: inputOf(call), outputTokens: 1_000, images: 1 };
  const { json } = call;
  if (path.endsWith('/rerank')) return usedByRerank(call);
  if (path.endsWith('/embeddings')) return { inputTokens: inputOf(call) + countNumbers(json.input) };
  if (path.includes('/images/')) return { inputTokens: inputOf(call), images: Number(json.n ?? 1) };
  const stated = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'].map((name) => Number(json[name] ?? 0));
  const limit = Math.min(Math.max(...stated) || OUTPUT_CAP_TOKENS, OUTPUT_CAP_TOKENS);
  const choices = Math.max(Number(json.n ?? 1), Number(json.best_of ?? 1));
  const hidden = Math.max(Number(json.thinking_budget ?? 0), Number(member(json.reasoning, 'max_tokens') ?? 0));
  const body = call.body.toString('latin1');
  const fetched = FETCHED.reduce((sum, [text, tokens]) => sum + (body.split(text).length - 1) * tokens, 0);
  return { inputTokens: inputOf(call) + fetched, outputTokens: choices * (limit + hidden) };
}

/** Vendors count the query once per document, and a hundred documents as a search unit. */
function usedByRerank({ json }: ProviderCall): Partial<ProviderCall['used']> {
  const documents = json.documents as string[];
  const count = (text: string): number => text.split(WORD).length - 1;
  const ofDocuments = documents.reduce((sum, text) => sum + count(text), 0);
  const inputTokens = documents.length * count(String(json.query)) + ofDocuments;
  return { inputTokens, searchUnits: Math.ceil(documents.length / 100) };
}

function countNumbers(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + countNumbers(item), 0);
  return typeof value === 'number' ? 1 : 0;
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** A stream of three words for 5,000 tokens, with its last events in the wrong order. */
async function trick(call: ProviderCall, arrange: (events: string[], usage: string) => string[]): Promise<void> {
  Object.assign(call.used, { inputTokens: inputOf(call), outputTokens: 5_000 });
  const wire = wireOf(call.path);
  const events = wire.stream(words(3), call.used);
  const at = events.findLastIndex((text) => text.includes(wire.usageEvent));
  for (const text of arrange(events.slice(0, at), events[at]!)) await call.event(text);
  await call.endStream();
}

/** The event with the usage again, with zeros. */
function zeroed({ path }: ProviderCall): string {
  if (path.endsWith('/messages')) {
    return event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { input_tokens: 0, output_tokens: 0 } });
  }
  if (path.endsWith('/responses')) {
    return event('response.incomplete', { sequence_number: 99, response: responseOf([], NOTHING, 'incomplete') });
  }
  const usage = chatUsageOf(NOTHING);
  return `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage })}\n\n`;
}
