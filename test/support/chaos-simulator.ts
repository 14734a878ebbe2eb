import { LLMock } from '@copilotkit/aimock';
import { readPrompt } from './chaos-prompt.ts';

/**
 * A provider in a process of its own whose chaos mode is on: a third-party simulator that speaks the vendors' wire formats
 * and of a fifth of what it is asked does something else. It listens on the port that its argument names, 0 for any.
 *
 * Whatever its parent sends is responded to with a `SimulatorReport`, after which the process is gone: no call in flight is
 * finished.
 */
export interface SimulatorReport {
  /** Of every call that ran, whatever became of its response: the number in its prompt, once each time. */
  readonly executed: readonly number[];
  /** How often each kind of fault was done. */
  readonly faults: Readonly<Record<string, number>>;
}

/** Shares of the requests that meet each kind of fault: a fifth in all, for rerank calls, which are let alone, count too. */
const SHARES = { drop: 0.045, malformed: 0.045, rateLimit: 0.045, disconnect: 0.045 };
const STREAM_SHARES = { unavailable: 0.01, truncated: 0.01, cutOff: 0.01 };
const WHOLE_SHARES = { unavailable: 0.03, truncated: 0, cutOff: 0 };

const executed: number[] = [];
let isLeaving = false;
const faults: Record<string, number> = { unavailable: 0, truncated: 0, cutOff: 0 };

/** The simulator draws one kind after the other, so each share is one of what the kinds before it have left. */
function drawn(share: number, before: number): number {
  return share / (1 - before);
}

const chaosShare = SHARES.drop + SHARES.malformed + SHARES.rateLimit + SHARES.disconnect;
const simulator = new LLMock({
  port: Number(process.argv[2] ?? 0),
  host: '127.0.0.1',
  chunkSize: 24,
  latency: 3,
  journalMaxEntries: 1,
  metrics: true,
  chaos: {
    dropRate: SHARES.drop,
    malformedRate: drawn(SHARES.malformed, SHARES.drop),
    rateLimitRate: drawn(SHARES.rateLimit, SHARES.drop + SHARES.malformed),
    disconnectRate: drawn(SHARES.disconnect, SHARES.drop + SHARES.malformed + SHARES.rateLimit),
    latencyMs: 2,
  },
});

interface SimulatedRequest {
  readonly stream?: boolean | undefined;
  readonly embeddingInput?: string | undefined;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

function promptOf({ messages, embeddingInput }: SimulatedRequest): string {
  const content = messages.findLast(({ role }) => role === 'user')?.content ?? embeddingInput ?? '';
  if (typeof content === 'string') return content;
  return (content as { text?: string }[]).map((part) => part.text ?? '').join('');
}

/** Repeats its prompt, and reports the tokens that the prompt states. */
function response(request: SimulatedRequest) {
  // Whatever is not in the last report must not come true any more.
  if (isLeaving) return new Promise<never>(() => undefined);
  const prompt = promptOf(request);
  const { number, inputTokens, outputTokens } = readPrompt(prompt);
  executed.push(number);
  return {
    content: prompt,
    // Each protocol reads its own names.
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
    },
  };
}

function responseWith(fault: 'truncated' | 'cutOff') {
  return (request: SimulatedRequest) => {
    faults[fault]!++;
    return response(request);
  };
}

const meets =
  (fault: keyof typeof STREAM_SHARES) =>
  ({ stream }: SimulatedRequest): boolean =>
    Math.random() < drawn((stream === true ? STREAM_SHARES : WHOLE_SHARES)[fault], chaosShare);

simulator.onRerank(/[\s\S]*/, [{ index: 0, relevance_score: 0.9 }]);
simulator.on({ predicate: meets('truncated') }, responseWith('truncated'), { truncateAfterChunks: 3 });
simulator.on({ predicate: meets('cutOff') }, responseWith('cutOff'), { disconnectAfterMs: 10 });
simulator.on({ predicate: meets('unavailable') }, () => {
  faults.unavailable!++;
  return { error: { message: 'Too busy for that', type: 'server_error', code: 'overloaded' }, status: 503 };
});
simulator.onMessage(/[\s\S]*/, response);
simulator.onEmbedding(/[\s\S]*/, async (request) => {
  await response(request);
  return { embedding: [0.25, -0.5, 0.75] };
});

/** The faults of the simulator's own chaos mode are in its metrics. */
async function countFaults(): Promise<Record<string, number>> {
  const response = await fetch(`${simulator.url}/metrics`);
  const counted = (await response.text()).matchAll(/^aimock_chaos_triggered_total\{([^}]*)\} (\d+)$/gm);
  const all = { ...faults };
  for (const [, labels, count] of counted) {
    const action = /action="(\w+)"/.exec(labels!)![1]!;
    all[action] = (all[action] ?? 0) + Number(count);
  }
  return all;
}

process.on('disconnect', () => process.exit(0));
process.on('message', async () => {
  const counted = await countFaults();
  isLeaving = true;
  process.send?.({ executed, faults: counted } satisfies SimulatorReport, () => process.exit(0));
});
await simulator.start();
process.send?.({ url: simulator.url });
