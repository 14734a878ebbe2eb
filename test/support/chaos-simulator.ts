import { LLMock } from '@copilotkit/aimock';
import { readPrompt } from './chaos-prompt.ts';

/**
 * A provider in its own process with chaos mode on: a third-party simulator of the vendors' wire formats that mistreats a fifth of all
 * requests. It listens on the port in its argument, 0 for any.
 *
 * It replies to any message from its parent with a `SimulatorReport` and exits at once, without finishing calls in flight.
 */
export interface SimulatorReport {
  /** The prompt number of each call that ran, whatever happened to its response; one entry per run. */
  readonly executed: readonly number[];
  /** Counts by kind of fault. */
  readonly faults: Readonly<Record<string, number>>;
}

/** Share of requests per kind of fault: a fifth in all, counting rerank calls, which have no faults. */
const SHARES = { drop: 0.045, malformed: 0.045, rateLimit: 0.045, disconnect: 0.045 };
const STREAM_SHARES = { unavailable: 0.01, truncated: 0.01, cutOff: 0.01 };
const WHOLE_SHARES = { unavailable: 0.03, truncated: 0, cutOff: 0 };

const executed: number[] = [];
let isLeaving = false;
const faults: Record<string, number> = { unavailable: 0, truncated: 0, cutOff: 0 };

/** The simulator draws the kinds one after another, so each share applies to the requests that earlier kinds left. */
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

/** Repeats its prompt, and reports the tokens that the prompt asks for. */
function response(request: SimulatedRequest) {
  // Nothing may happen after the last report.
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

/** The simulator counts the faults of its own chaos mode in its metrics. */
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
