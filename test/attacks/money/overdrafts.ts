import type { Attack } from '../attack.ts';
import { once, words } from '../scene/bodies.ts';

/** Concurrent calls whose cost is hidden, on a balance that covers a part of one of them. */
interface Overdraft {
  readonly name: string;
  readonly sends: string;
  readonly calls: number;
  /** Less than the cost of one call, and more than its apparent cost; by default ¥1. */
  readonly balanceYuan?: string;
  readonly path: string;
  readonly body: (mark: string) => object;
}

const PICTURES = 20;
const pictures = Array.from({ length: PICTURES }, (_, index) => ({
  type: 'image_url',
  image_url: { url: `https://pictures.example/${index}.png` },
}));
const prompt = [{ role: 'user', content: 'Hello.' }];
const chat = { path: '/v1/chat/completions', calls: 50 };
const responses = { path: '/v1/responses', calls: 50 };

const query = once(() => words(3_400));
const documents = Array.from({ length: 1_000 }, () => ' apple');
/** A list of token ids has two bytes per token, fewer than words. */
const TOKEN_IDS = 200_000;

const OVERDRAFTS: readonly Overdraft[] = [
  {
    name: 'zero-limit',
    sends: 'max_tokens of 0, which relays drop and providers read as no limit',
    ...chat,
    calls: 100,
    body: (user) => ({ model: 'dear-chat', user, max_tokens: 0, messages: prompt }),
  },
  {
    name: 'picture-addresses',
    sends: `${PICTURES} pictures by address, which the provider fetches`,
    ...chat,
    body: (user) => ({
      model: 'dear-chat',
      user,
      max_tokens: 16,
      messages: [{ role: 'user', content: [...pictures, { type: 'text', text: 'What is this?' }] }],
    }),
  },
  {
    name: 'file-addresses',
    sends: 'a file by address, which the provider fetches',
    ...responses,
    body: (user) => ({
      model: 'dear-chat',
      user,
      max_output_tokens: 16,
      input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://files.example/apples.pdf' }] }],
    }),
  },
  {
    name: 'provider-tools',
    sends: 'a question that the provider looks up with a tool of its own',
    ...responses,
    body: (user) => ({
      model: 'dear-chat',
      user,
      max_output_tokens: 16,
      input: 'Who grows the most apples?',
      tools: [{ type: 'web_search' }],
    }),
  },
  {
    name: 'best-of',
    sends: 'twenty outputs of which the best one is shown',
    ...chat,
    body: (user) => ({ model: 'dear-chat', user, max_tokens: 500, best_of: 20, messages: prompt }),
  },
  {
    name: 'thinking-budget',
    sends: 'a short output, and a long one that is hidden in thinking_budget',
    ...chat,
    body: (user) => ({ model: 'dear-chat', user, max_tokens: 16, thinking_budget: 20_000, messages: prompt }),
  },
  {
    name: 'reasoning-limit',
    sends: 'a short output, and a long one that is hidden in reasoning.max_tokens',
    ...chat,
    body: (user) => ({ model: 'dear-chat', user, max_tokens: 16, reasoning: { max_tokens: 20_000 }, messages: prompt }),
  },
  {
    name: 'rerank-query',
    sends: 'a query of 20 KB beside 1,000 documents, with each of which it is counted',
    calls: 20,
    path: '/v1/rerank',
    body: (user) => ({ model: 'dear-rerank', user, query: query(), documents }),
  },
  {
    name: 'rerank-units',
    sends: '1,000 documents, which are ten units of search',
    calls: 20,
    balanceYuan: '5',
    path: '/v1/rerank',
    body: (user) => ({ model: 'dear-rerank-units', user, query: ' apple', documents }),
  },
  {
    name: 'token-ids',
    sends: `${TOKEN_IDS} tokens given as numbers of one digit`,
    calls: 10,
    balanceYuan: '15',
    path: '/v1/embeddings',
    body: (user) => ({ model: 'dear-embeddings', user, input: Array.from({ length: TOKEN_IDS }, () => 9) }),
  },
];

export const overdrafts: readonly Attack[] = OVERDRAFTS.map(
  ({ name, sends, calls, balanceYuan = '1', path, body }) => ({
    name,
    sends: `${sends}: ${calls} at a time on ¥${balanceYuan}`,
    seconds: 2,
    callers: { poor: { balanceYuan } },
    async run(scene) {
      const bytes = Buffer.from(JSON.stringify(body(scene.mark('all', 'poor'))));
      await Promise.all(Array.from({ length: calls }, () => scene.send({ path, key: scene.key('poor'), body: bytes })));
      scene.expectStatuses(200, 402, 429, 503);
      const settled = await scene.settle('poor', name);
      scene.expectBill(name, settled);
      scene.expectOverdraftOfOne(name, settled);
    },
  }),
);
