import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ABLATED, ABLATED_METER } from './ablate.ts';
import type { Attributed, Part } from './attribute.ts';
import { type GatewayTarget, startGatewayTarget } from './gateway-target.ts';
import { benchFile, spawnGateway } from './processes.ts';
import { startStage } from './stage.ts';
import { gatewayOrder } from './targets.ts';

/** The length of a call's code path, which hardly depends on the machine (`call-path.ts`). */

export const COLUMNS: Readonly<Record<keyof CallLength, string>> = {
  files: 'files',
  ownFiles: 'own files',
  functions: 'functions',
  functionCalls: 'function calls',
  messages: 'messages',
  promises: 'promises',
  timers: 'timers',
};

/** The kinds of calls that are measured. */
export const SHAPES = [
  { name: 'stream, balance', isStream: true, isCoding: false },
  { name: 'stream, coding', isStream: true, isCoding: true },
  { name: 'whole, balance', isStream: false, isCoding: false },
  { name: 'whole, coding', isStream: false, isCoding: true },
] as const;
export type Shape = (typeof SHAPES)[number];

/** The counts for one call. */
export interface CallLength {
  /** Source files that run, and those outside `lib`, `db`, `http` and `protocols`. */
  readonly files: number;
  readonly ownFiles: number;
  readonly functions: number;
  readonly functionCalls: number;
  /** Messages to the database. */
  readonly messages: number;
  readonly promises: number;
  readonly timers: number;
}

export interface CountedCalls {
  readonly shape: Shape;
  /** The minimum of each count. Some calls include other work of the gateway, such as a timer. */
  readonly length: CallLength;
  /** For the call with the fewest function calls: each file. */
  readonly parts: readonly Part[];
}

interface CountOrder {
  readonly checkout: string;
  readonly warmUp: number;
  readonly calls: number;
  /** By default all. */
  readonly shapes?: readonly Shape[];
  /** Parts of the gateway to remove (`ablate.ts`). Their results are those of the first call, so they need a single shape. */
  readonly without?: readonly string[];
}

export const CHUNKS = 5;
const SHAPE_OF_BODY = /"stream":true/;

/** Counts calls of each kind, one by one, in a warm gateway. @throws Error if a call fails */
export async function countCalls(counting: CountOrder): Promise<CountedCalls[]> {
  const { checkout, shapes = SHAPES, without = [] } = counting;
  const provider = await startProvider();
  const stage = await startStage(0, []);
  try {
    const upstreamUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    const order = gatewayOrder(stage, checkout, await stage.createDatabase());
    const environment = { [ABLATED]: without.join(','), [ABLATED_METER]: benchFile('attribute.ts') };
    const gateway = await startGatewayTarget({
      ...{ ...order, upstreamUrl, meter: benchFile('ablate.ts') },
      spawn: (args, own) => spawnGateway(args, { ...own, ...environment }),
    });
    const counted: CountedCalls[] = [];
    for (const shape of shapes) counted.push(await countShape(gateway, shape, counting));
    await gateway.stop();
    return counted;
  } finally {
    await stage.stop();
    provider.close();
  }
}

async function countShape(gateway: GatewayTarget, shape: Shape, order: CountOrder): Promise<CountedCalls> {
  const { checkout, warmUp, calls } = order;
  for (let i = 0; i < warmUp; i++) await callOnce(gateway, shape);
  const seen: Part[][] = [];
  await gateway.orders.ask({ begin: 'calls' });
  for (let i = 0; i < calls; i++) {
    await callOnce(gateway, shape);
    const { parts } = await gateway.orders.ask<Attributed>({});
    seen.push(parts.filter(({ file }) => isSource(file, checkout)));
  }
  const { promises, timers } = await countResources(gateway, shape, calls);
  const lengths = seen.map(lengthOf);
  const least = (of: (length: (typeof lengths)[number]) => number): number => Math.min(...lengths.map(of));
  return {
    shape,
    length: {
      files: least(({ files }) => files),
      ownFiles: least(({ ownFiles }) => ownFiles),
      functions: least(({ functions }) => functions),
      functionCalls: least(({ functionCalls }) => functionCalls),
      messages: least(({ messages }) => messages),
      promises,
      timers,
    },
    parts: seen.toSorted((left, right) => callsOf(left) - callsOf(right))[0]!,
  };
}

/** The minimum per call, without the resources that measuring creates. */
async function countResources(gateway: GatewayTarget, shape: Shape, calls: number) {
  const made = async (work: () => Promise<void>): Promise<{ readonly promises: number; readonly timers: number }> => {
    const { counts: before } = await gateway.orders.ask<Attributed>({ begin: 'counts' });
    await work();
    const { counts } = await gateway.orders.ask<Attributed>({ begin: 'counts' });
    const of = (type: string): number => (counts[type] ?? 0) - (before[type] ?? 0);
    return { promises: of('PROMISE'), timers: of('Timeout') + of('Immediate') };
  };
  const fewest = async (work: () => Promise<void>) => {
    const seen: Awaited<ReturnType<typeof made>>[] = [];
    for (let i = 0; i < calls; i++) seen.push(await made(work));
    const least = (of: (each: (typeof seen)[number]) => number): number => Math.min(...seen.map(of));
    return { promises: least(({ promises }) => promises), timers: least(({ timers }) => timers) };
  };
  await gateway.orders.ask({ begin: 'counts' });
  const asked = await fewest(async () => undefined);
  const called = await fewest(() => callOnce(gateway, shape));
  await gateway.orders.ask({});
  return { promises: called.promises - asked.promises, timers: called.timers - asked.timers };
}

function lengthOf(parts: readonly Part[]): Omit<CallLength, 'promises' | 'timers'> {
  const files = new Set(parts.map(({ file }) => file));
  const asked = parts.filter(
    ({ file, name }) => file.endsWith('/db/postgres-connections.ts') && name.startsWith('ask@'),
  );
  return {
    files: files.size,
    ownFiles: [...files].filter((file) => !/\/src\/(lib|db|http|protocols)\//.test(file)).length,
    functions: parts.length,
    functionCalls: callsOf(parts),
    messages: callsOf(asked),
  };
}

const callsOf = (parts: readonly Part[]): number => parts.reduce((sum, { amount }) => sum + amount, 0);

/** The gateway's files, without modules of the bench that are loaded into it. */
const isSource = (file: string, checkout: string): boolean =>
  new URL(file, 'file:').pathname.startsWith(`${checkout}/src/`);

const event = (choices: readonly object[], usage: object | null = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'bench-upstream', choices, usage })}\n\n`;
const USAGE = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 };
const WHOLE = JSON.stringify({
  ...{ id: 'chatcmpl-bench', object: 'chat.completion', created: 1, model: 'bench-upstream', usage: USAGE },
  choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(10) }, finish_reason: 'stop' }],
});

/** Responds in the requested form. Each chunk of a stream is written after the one before has left. */
async function startProvider(): Promise<Server> {
  const provider = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    if (!SHAPE_OF_BODY.test(body)) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(WHOLE);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let sent = 0;
    const next = (): void => {
      if (sent++ < CHUNKS) {
        response.write(event([{ index: 0, delta: { content: 'word ' }, finish_reason: null }]));
        setImmediate(next);
      } else {
        response.end(`${event([{ index: 0, delta: {}, finish_reason: 'stop' }])}${event([], USAGE)}data: [DONE]\n\n`);
      }
    };
    next();
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  return provider;
}

async function callOnce({ url, balanceKeys, codingKeys }: GatewayTarget, { isStream, isCoding }: Shape): Promise<void> {
  const [keys, path] = isCoding ? [codingKeys, '/v1/coding/chat/completions'] : [balanceKeys, '/v1/chat/completions'];
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[0]}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'bench-model', stream: isStream, messages: [{ role: 'user', content: 'Hello!' }] }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`the gateway responded with ${response.status}: ${text}`);
}
