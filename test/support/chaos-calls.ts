import { seededRandom } from '../../src/lib/seeded-random.ts';
import { writePrompt } from './chaos-prompt.ts';
import { costNano, type PaidTokens } from './gateway.ts';

/** The calls of a chaos run, planned before the first one is sent, and how to read their responses. */

export interface CallKind {
  readonly name: string;
  readonly path: string;
  readonly context: 'balance' | 'coding';
  readonly isStream: boolean;
  /** Its frequency, in proportion to the others. */
  readonly weight: number;
  body(prompt: string, isUsageAsked: boolean): object;
  read(text: string): Reading;
}

/** What a client reads from a response. */
export interface Reading {
  readonly text: string | null;
  readonly usage: PaidTokens | null;
  readonly hasError: boolean;
  /** Whether the response is complete according to its protocol. */
  readonly isComplete: boolean;
}

/** When a client disconnects: never, after it sent the call, or after the first bytes of a stream. */
export type Leaving = 'never' | 'sent' | 'streaming';

export interface PlannedCall {
  readonly number: number;
  readonly kind: CallKind;
  /** Index of the key that makes the call, among the keys of its context. */
  readonly keyIndex: number;
  readonly leaving: Leaving;
  readonly prompt: string;
  readonly body: string;
  /** The usage that the provider will report, and its charge. */
  readonly usage: { readonly input: number; readonly output: number };
  readonly costNano: bigint;
}

export const RERANK_NANO = 17_000_003n;

/** `keyWeights`: for each context, the share of its calls that each key makes. */
export function planCalls(
  count: number,
  seed: number,
  keyWeights: Readonly<Record<CallKind['context'], readonly number[]>>,
): PlannedCall[] {
  const randomSource = seededRandom(seed);
  return Array.from({ length: count }, (_, number) => {
    const kind =
      CALL_KINDS[
        draw(
          randomSource,
          CALL_KINDS.map(({ weight }) => weight),
        )
      ]!;
    const keyIndex = draw(randomSource, keyWeights[kind.context]);
    const leaves = randomSource();
    const leaving: Leaving = leaves < 0.02 ? 'sent' : leaves < 0.08 && kind.isStream ? 'streaming' : 'never';
    const usage = { input: 100 + number, output: 1 + (number % 199) };
    const prompt = writePrompt({ number, inputTokens: usage.input, outputTokens: usage.output });
    return {
      number,
      kind,
      keyIndex,
      leaving,
      prompt,
      body: JSON.stringify(kind.body(prompt, randomSource() < 0.5)),
      usage,
      costNano: costOf(kind, usage),
    };
  });
}

function draw(randomSource: () => number, weights: readonly number[]): number {
  let at = randomSource() * weights.reduce((sum, weight) => sum + weight, 0);
  const index = weights.findIndex((weight) => {
    at -= weight;
    return at < 0;
  });
  return index === -1 ? weights.length - 1 : index;
}

function costOf(kind: CallKind, usage: PaidTokens): bigint {
  if (kind.context === 'coding') return 0n;
  if (kind.name === 'rerank') return RERANK_NANO;
  // The simulator always reports no tokens for embeddings.
  return kind.name === 'embeddings' ? 0n : costNano(usage);
}

// biome-ignore lint/suspicious/noExplicitAny: responses of several protocols, read if they are expected
type Wire = any;

function whole(read: (response: Wire) => { text: string | null; usage: PaidTokens | null }): CallKind['read'] {
  return (text) => ({ ...read(JSON.parse(text)), hasError: false, isComplete: true });
}

/** Adds the data of each event of a stream to what is known. */
function streamed(read: (data: Wire, known: MutableReading) => void): CallKind['read'] {
  return (text) => {
    const known: MutableReading = { text: '', usage: null, hasError: false, isComplete: false };
    for (const event of text.split('\n\n')) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data === undefined) continue;
      if (data === '[DONE]') known.isComplete = true;
      else read(JSON.parse(data), known);
    }
    return known;
  };
}

interface MutableReading {
  text: string;
  usage: PaidTokens | null;
  hasError: boolean;
  isComplete: boolean;
}

const chatBody = (prompt: string) => ({ model: 'talk', messages: [{ role: 'user', content: prompt }] });
const chatStreamBody = (prompt: string, isUsageAsked: boolean) => ({
  ...chatBody(prompt),
  stream: true,
  ...(isUsageAsked ? { stream_options: { include_usage: true } } : {}),
});
const chatUsage = (usage: Wire): PaidTokens => ({ input: usage.prompt_tokens, output: usage.completion_tokens });
const readChat = whole(({ choices, usage }) => ({ text: choices[0].message.content, usage: chatUsage(usage) }));
const readChatStream = streamed((data, known) => {
  known.hasError ||= data.error !== undefined;
  known.text += data.choices?.[0]?.delta?.content ?? '';
  if (data.usage) known.usage = chatUsage(data.usage);
});

const messagesBody = (prompt: string) => ({ ...chatBody(prompt), max_tokens: 200 });
const messagesStreamBody = (prompt: string) => ({ ...messagesBody(prompt), stream: true });
const responsesUsage = (usage: Wire): PaidTokens => ({ input: usage.input_tokens, output: usage.output_tokens });
const readMessages = whole(({ content, usage }) => ({ text: content[0].text, usage: responsesUsage(usage) }));
const readMessagesStream = streamed((data, known) => {
  if (data.type === 'error') known.hasError = true;
  if (data.type === 'message_start') known.usage = { input: data.message.usage.input_tokens };
  if (data.type === 'content_block_delta') known.text += data.delta.text;
  if (data.type === 'message_delta') known.usage = { ...known.usage, output: data.usage.output_tokens };
  if (data.type === 'message_stop') known.isComplete = true;
});

const responsesBody = (prompt: string) => ({ model: 'talk', input: prompt });
const responsesStreamBody = (prompt: string) => ({ ...responsesBody(prompt), stream: true });
const readResponses = whole(({ output, usage }) => ({
  text: output[0].content[0].text,
  usage: responsesUsage(usage),
}));
const readResponsesStream = streamed((data, known) => {
  if (data.type === 'error' || data.type === 'response.failed') known.hasError = true;
  if (data.type === 'response.output_text.delta') known.text += data.delta;
  if (data.type === 'response.completed') {
    known.usage = responsesUsage(data.response.usage);
    known.isComplete = true;
  }
});

// biome-ignore format: a table reads best with one row a line
export const CALL_KINDS: readonly CallKind[] = [
  kind('chat', '/v1/chat/completions', 'balance', 16, chatBody, readChat),
  kind('chat stream', '/v1/chat/completions', 'balance', 18, chatStreamBody, readChatStream),
  kind('messages', '/v1/messages', 'balance', 12, messagesBody, readMessages),
  kind('messages stream', '/v1/messages', 'balance', 16, messagesStreamBody, readMessagesStream),
  kind('responses', '/v1/responses', 'balance', 6, responsesBody, readResponses),
  kind('responses stream', '/v1/responses', 'balance', 8, responsesStreamBody, readResponsesStream),
  kind('embeddings', '/v1/embeddings', 'balance', 5, (prompt) => ({ model: 'embed', input: prompt }),
    whole(({ usage }) => ({ text: null, usage: { input: usage.prompt_tokens } }))),
  kind('rerank', '/v1/rerank', 'balance', 4, (prompt) => ({ model: 'rank', query: prompt, documents: ['this'] }),
    whole(() => ({ text: null, usage: null }))),
  kind('coding chat', '/v1/coding/chat/completions', 'coding', 4, chatBody, readChat),
  kind('coding chat stream', '/v1/coding/chat/completions', 'coding', 4, chatStreamBody, readChatStream),
  kind('coding messages stream', '/altproto/v1/messages', 'coding', 5, messagesStreamBody, readMessagesStream),
  kind('coding responses', '/v1/coding/responses', 'coding', 2, responsesBody, readResponses),
];

function kind(
  name: string,
  path: string,
  context: CallKind['context'],
  weight: number,
  body: CallKind['body'],
  read: CallKind['read'],
): CallKind {
  return { name, path, context, weight, isStream: name.endsWith('stream'), body, read };
}
