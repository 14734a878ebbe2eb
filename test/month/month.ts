import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { Dice } from '../../src/lib/dice.ts';
import { parseYuan } from '../../src/lib/yuan.ts';
import { EDITS, editForm, formType } from '../conformance/images.ts';
import { call, startCall } from '../support/client.ts';
import { clientLeaves, startGateway, type TestGateway } from '../support/gateway.ts';
import { event, json, liveResponse, type ReceivedRequest, sse } from '../support/provider.ts';
import { recomputedCharge } from '../support/recomputed-charge.ts';
import { sql } from '../support/sql.ts';
import { bill } from './biller.ts';
import { corpusCalls, corpusModels, markedModels } from './corpus.ts';
import { type BillLine, type DrawnCall, drawCall, type Operation } from './vendor.ts';

/** The price list of `biller.ts` as configuration. */
const TOOLS =
  'perWebSearch: "0.07", perWebFetch: "0.001", perFileSearch: "0.017", perCodeExecution: "0.003", perContainer: "0.21", perToolUse: "0.005"';
const MODELS = `
  talker:
    contextLength: "10000"
    maxOutputTokens: "5000"
    operations: [chat]
    price:
      { input: "3", cachedInput: "0.7", cacheWrite: "5", audioInput: "31", output: "13", audioOutput: "89", ${TOOLS},
        serviceTiers: { flex: "0.5", priority: "1.75" },
        outputAbove: { "900": { input: "3.5", cachedInput: "0.7", cacheWrite: "5", audioInput: "31", output: "17", audioOutput: "97" } },
        above: { "5000": { input: "7", cachedInput: "1.1", cacheWrite: "9", audioInput: "61", output: "29", audioOutput: "179" } } }
    routes: [{ provider: chatty, model: v-talker }]
  thinker:
    contextLength: "10000"
    maxOutputTokens: "4000"
    operations: [responses, compact]
    price:
      { input: "2", cachedInput: "0.3", cacheWrite: "2.3", cacheWrite1h: "4.1", output: "11", ${TOOLS},
        thinking: { input: "2", cachedInput: "0.3", cacheWrite: "2.3", cacheWrite1h: "4.1", output: "43" },
        serviceTiers: { flex: "0.5", priority: "2" } }
    routes: [{ provider: chatty, model: v-thinker }]
  writer:
    contextLength: "10000"
    maxOutputTokens: "4000"
    operations: [messages]
    price:
      { input: "5", cachedInput: "0.5", cacheWrite: "6.25", cacheWrite1h: "10", output: "25", ${TOOLS},
        speeds: { fast: "6" }, inferenceGeos: { us: "1.1" },
        above: { "6000": { input: "10", cachedInput: "1", cacheWrite: "12.5", cacheWrite1h: "20", output: "37.5" } } }
    routes: [{ provider: messy, model: v-writer }]
  embedder: { operations: [embeddings], price: { input: "0.13" }, routes: [{ provider: chatty, model: v-embedder }] }
  ranker: { operations: [rerank], price: { input: "0.17" }, routes: [{ provider: chatty, model: v-ranker }] }
  ranker-by-unit: { operations: [rerank], price: { perSearchUnit: "0.019" }, routes: [{ provider: chatty, model: v-ranker }] }
  ranker-by-call: { operations: [rerank], price: { perCall: "0.017" }, routes: [{ provider: chatty, model: v-ranker }] }
  painter:
    operations: [images.generate, images.edit]
    price: { input: "5", imageInput: "8", imageOutput: "32" }
    routes: [{ provider: chatty, model: v-painter }]
  painter-by-image:
    operations: [images.generate, images.edit]
    price: { perImage: { low: "0.08", high: "1.2" } }
    routes: [{ provider: chatty, model: v-painter }]
`;

export interface MonthOptions {
  readonly seed: number;
  /** Number of generated calls. The corpus adds each of its calls at least once. */
  readonly calls: number;
  /** Number of streams whose clients leave. */
  readonly aborts: number;
  readonly callsAtOnce: number;
}

export interface Month {
  /** The gateway's charges and the vendor's bill, by model. */
  readonly sums: readonly { readonly model: string; readonly chargedNano: bigint; readonly billedNano: bigint }[];
  readonly aborted: readonly { readonly model: string; readonly chargedNano: bigint; readonly reservedNano: bigint }[];
  readonly refused: number;
}

/** Sends a month of traffic through a gateway, and bills it from the vendor's records. */
export async function runMonth(options: MonthOptions): Promise<Month> {
  await using g = await startGateway({
    models: MODELS + corpusModels(),
    // One provider serves the requests of all vendors.
    providerFields: 'sharedState: pass, unknownTools: pass',
  });
  const dice = new Dice(options.seed);
  const month = await runCalls(g, dice, options);
  return { ...month, aborted: await runAborts(g, dice, options.aborts) };
}

async function runCalls(g: TestGateway, dice: Dice, options: MonthOptions): Promise<Omit<Month, 'aborted'>> {
  const rounds = Math.max(1, Math.round(options.calls / corpusCalls.length / 10));
  const drawn: readonly DrawnCall[] = [
    ...Array.from({ length: options.calls }, () => drawCall(dice)),
    ...Array.from({ length: rounds }, () => corpusCalls).flat(),
  ];
  const invoice: string[] = [];
  g.provider.respond = (request, response) => {
    const made = drawn[numberOf(request)]!;
    // The vendor records a bill when the response is sent.
    if (made.bill !== null) invoice.push(JSON.stringify(made.bill));
    return responseOf(made)(request, response);
  };
  const account = await g.createAccount({ balanceYuan: '1000000' });
  let next = 0;
  const send = async (): Promise<void> => {
    while (next < drawn.length) {
      const number = next++;
      const made = drawn[number]!;
      const { body, headers } = requestOf(made, number);
      const { status, text } = await call(g.url + PATHS[made.operation], account.key, body, { headers });
      assert.equal(status, made.bill === null ? 400 : 200, `${made.operation} of ${made.model}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: options.callsAtOnce }, send));

  const rows = await sql<{ model: string; nano: bigint; unpriced: bigint; excess: bigint }>(
    g.database,
    `select model, sum(coalesce(charge_nano, 0))::bigint as nano,
      count(*) filter (where notes -> 'unpriced' is not null) as unpriced,
      count(*) filter (where notes -> 'excess' is not null) as excess
      from calls group by model order by model`,
  );
  await assertRecomputable(g);
  const charged = new Map(rows.map(({ model, nano }) => [model, nano]));
  for (const { model, unpriced, excess } of rows) {
    assert.equal(excess, 0n, `a use of ${model} was cut off`);
    assert.equal(unpriced > 0n, markedModels.includes(model), `uses of ${model} without a price`);
  }
  const billed = bill(invoice);
  const models = [...new Set([...charged.keys(), ...billed.keys()])].sort();
  const { balanceNano } = await account.money();
  const spent = 1_000_000_000_000_000n - balanceNano;
  assert.equal(
    spent,
    [...charged.values()].reduce((sum, nano) => sum + nano, 0n),
    'the ledger differs from the records',
  );
  return {
    sums: models.map((model) => ({
      model,
      chargedNano: charged.get(model) ?? 0n,
      billedNano: billed.get(model) ?? 0n,
    })),
    refused: drawn.filter((made) => made.bill === null).length,
  };
}

/** Asserts that every recorded charge follows from its record alone. */
async function assertRecomputable(g: TestGateway): Promise<void> {
  let cursor = '';
  do {
    const { body } = await g.admin('GET', `/calls?limit=500${cursor}`);
    for (const record of body.data) {
      if (record.chargeYuan === null) continue;
      assert.equal(recomputedCharge(record), parseYuan(record.chargeYuan), JSON.stringify(record));
    }
    cursor = body.nextCursor === null ? '' : `&cursor=${encodeURIComponent(body.nextCursor)}`;
  } while (cursor !== '');
}

/** Clients that leave in the middle of a stream, one at a time, so that the hold is that call's reservation. */
async function runAborts(g: TestGateway, dice: Dice, count: number): Promise<Month['aborted']> {
  const account = await g.createAccount({ balanceYuan: '1000' });
  const aborted: Month['aborted'][number][] = [];
  while (aborted.length < count) {
    const made = drawCall(dice);
    if (!made.isStream || made.bill === null) continue;
    const live = liveResponse();
    g.provider.respond = live.respond;
    const { body, headers } = requestOf(made, aborted.length, paddingOf(made.bill));
    const gone = clientLeaves(g);
    const started = startCall(g.url + PATHS[made.operation], account.key, body, { headers });
    await live.opened;
    const { balanceNano, heldNano } = await account.money();
    const events = eventsOf(made);
    // Before the end of the output: after it the gateway waits for the usage, and charges that.
    const last = dice.upTo(events.findLastIndex((text) => WORD.test(text)));
    await live.write(events.slice(0, last + 1).join(''));
    const response = await started.response;
    await response.until(events[last]!.trim().split('\n').at(-1)!);
    started.drop();
    await gone;
    live.end();
    await account.endedCall(aborted.length + 1);
    const { balanceNano: after } = await account.money();
    aborted.push({ model: made.model, chargedNano: balanceNano - after, reservedNano: heldNano });
  }
  return aborted;
}

const WORD = /delta.*(One|two|three|four)/;

/** Text of about three times the billed input, because writing to the vendor's cache costs up to twice as much. */
function paddingOf({ items, moreRuns }: BillLine): string {
  const tokens = [items, ...moreRuns]
    .flatMap((run) => Object.entries(run))
    .reduce((sum, [item, quantity]) => sum + (item.endsWith('_in') ? quantity : 0), 0);
  return 'word'.repeat(3 * tokens);
}

const PATHS: Readonly<Record<Operation, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  compact: '/v1/responses/compact',
  messages: '/v1/messages',
  embeddings: '/v1/embeddings',
  rerank: '/v1/rerank',
  generate: '/v1/images/generations',
  edit: EDITS,
};

/** The text of the request contains its number, by which the vendor identifies it. */
const MARK = /call #(\d+)\./;

function numberOf({ body }: ReceivedRequest): number {
  return Number(MARK.exec(body.toString('latin1'))![1]);
}

function requestOf(
  made: DrawnCall,
  number: number,
  padding = '',
): { body: object | Buffer; headers: Record<string, string> } {
  const text = `This is call #${number}. ${padding}`;
  const { operation, model, isStream, request } = made;
  if (made.body !== undefined && operation !== 'edit')
    return { body: { ...request, model, user: text.trim() }, headers: {} };
  if (operation === 'edit') {
    const texts = Object.fromEntries(Object.entries(request).map(([name, value]) => [name, String(value)]));
    return {
      body: editForm({ prompt: text, ...texts, model, user: text.trim() }),
      headers: { 'content-type': formType() },
    };
  }
  const messages = [{ role: 'user', content: text }];
  const own: Readonly<Record<Exclude<Operation, 'edit'>, object>> = {
    chat: { messages },
    responses: { input: text },
    compact: { input: text },
    messages: { messages },
    embeddings: { input: text },
    rerank: { query: text, documents: ['one', 'two'] },
    generate: { prompt: text },
  };
  return { body: { model, ...own[operation], ...(isStream && { stream: true }), ...request }, headers: {} };
}

function responseOf(made: DrawnCall): (request: ReceivedRequest, response: ServerResponse) => void | Promise<void> {
  if (made.body !== undefined) return bytes(made.isStream ? 'text/event-stream' : 'application/json', made.body);
  if (made.bill === null) return json(400, { error: { message: 'No.', type: 'invalid_request_error' } });
  return made.isStream ? sse(eventsOf(made)) : json(200, made.response);
}

function bytes(type: string, body: Buffer): (request: ReceivedRequest, response: ServerResponse) => void {
  return (_, response) => response.writeHead(200, { 'content-type': type }).end(body);
}

function eventsOf({ operation, response }: DrawnCall): string[] {
  const data = (body: object | string): string => `data: ${typeof body === 'string' ? body : JSON.stringify(body)}\n\n`;
  const words = ['One', ' two', ' three', ' four'];
  switch (operation) {
    case 'chat': {
      const { service_tier, usage } = response;
      const chunk = (rest: object): string => data({ id: 'c', object: 'chat.completion.chunk', service_tier, ...rest });
      return [
        ...words.map((content) => chunk({ choices: [{ index: 0, delta: { content } }] })),
        chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
        chunk({ choices: [], usage }),
        data('[DONE]'),
      ];
    }
    case 'responses':
      return [
        event('response.created', { response: { id: response.id, service_tier: 'auto', usage: null } }),
        ...words.map((delta) => event('response.output_text.delta', { delta })),
        event('response.output_text.done', { text: words.join('') }),
        event('response.completed', { response: response }),
      ];
    case 'messages': {
      const usage = response.usage as Record<string, unknown>;
      const { output_tokens, server_tool_use, iterations, ...start } = usage;
      return [
        event('message_start', { message: { ...response, usage: { ...start, output_tokens: 0 } } }),
        event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
        ...words.map((text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
        event('content_block_stop', { index: 0 }),
        event('message_delta', {
          delta: { stop_reason: 'end_turn' },
          usage: { output_tokens, server_tool_use, ...(iterations !== undefined && { iterations }) },
        }),
        event('message_stop'),
      ];
    }
    default:
      throw new Error(`${operation} has no streams here`);
  }
}
