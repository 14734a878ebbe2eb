import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { readOptions } from '../scripts/read-options.ts';
import type { Attributed, Part } from './attribute.ts';
import { type GatewayTarget, startGatewayTarget } from './gateway-target.ts';
import { benchFile } from './processes.ts';
import { quantile } from './quantile.ts';
import { REPOSITORY } from './revisions.ts';
import { startStage } from './stage.ts';
import { gatewayOrder } from './targets.ts';

/**
 * How long the way of a call is: the source files it runs through, the functions, and how often they are called, of the main thread,
 * for one call by itself in a gateway that is warm. Counts do not depend on what else the machine does.
 *
 *   node bench/call-path.ts                            a streamed call, on PostgreSQL
 *   node bench/call-path.ts --whole --coding --files   a whole response, of a Coding Plan; with each file
 *   node bench/call-path.ts --checkout ../before       of another version
 */
const values = readOptions({
  whole: false,
  coding: false,
  files: false,
  calls: 25,
  'warm-up': 1_000,
  checkout: REPOSITORY,
});
const checkout = resolve(values.checkout);
const CHUNKS = 5;

const event = (choices: readonly object[], usage: object | null = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'bench-upstream', choices, usage })}\n\n`;
const USAGE = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 };
const WHOLE = JSON.stringify({
  ...{ id: 'chatcmpl-bench', object: 'chat.completion', created: 1, model: 'bench-upstream', usage: USAGE },
  choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(10) }, finish_reason: 'stop' }],
});

/** Each chunk is a write of its own, once the one before has left. */
const provider = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    if (values.whole) {
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
  });
}).listen(0, '127.0.0.1');
await once(provider, 'listening');

const stage = await startStage(0, []);
try {
  const upstreamUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const order = gatewayOrder(stage, checkout, await stage.createDatabase());
  const gateway = await startGatewayTarget({ ...order, upstreamUrl, meter: benchFile('attribute.ts') });
  for (let i = 0; i < values['warm-up']; i++) await callOnce(gateway);
  const seen: Part[][] = [];
  await gateway.orders.ask({ begin: 'calls' });
  for (let i = 0; i < values.calls; i++) {
    await callOnce(gateway);
    const { parts } = await gateway.orders.ask<Attributed>({});
    seen.push(parts.filter(({ file }) => isSource(file)));
  }
  await gateway.stop();
  show(seen);
} finally {
  await stage.stop();
  provider.close();
}

async function callOnce({ url, balanceKeys, codingKeys }: GatewayTarget): Promise<void> {
  const [keys, path] = values.coding
    ? [codingKeys, '/v1/coding/chat/completions']
    : [balanceKeys, '/v1/chat/completions'];
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[0]}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'bench-model',
      stream: !values.whole,
      messages: [{ role: 'user', content: 'Hello!' }],
    }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`the gateway responded with ${response.status}: ${text}`);
}

/** Of the gateway, without the modules of the bench that are loaded into it. */
function isSource(file: string): boolean {
  return new URL(file, 'file:').pathname.startsWith(`${checkout}/src/`);
}

/** The medians of calls that had nothing beside them, such as a timer of the gateway. */
function show(seen: readonly Part[][]): void {
  const median = (of: (parts: readonly Part[]) => number): number => quantile(seen.map(of), 0.5);
  const filesOf = (parts: readonly Part[]): Set<string> => new Set(parts.map(({ file }) => file));
  const callsOf = (parts: readonly Part[]): number => parts.reduce((sum, { amount }) => sum + amount, 0);
  const isOwnRoom = (file: string): boolean => !/\/src\/(lib|db|http|protocols)\//.test(file);
  console.log(
    `${values.whole ? 'a whole response' : `a stream of ${CHUNKS} chunks`}, medians of ${seen.length} calls:`,
  );
  console.log(`${median((parts) => filesOf(parts).size)} source files`);
  console.log(
    `${median((parts) => filesOf(parts.filter(({ file }) => isOwnRoom(file))).size)} of them outside lib, db, http and protocols`,
  );
  console.log(`${median((parts) => parts.length)} functions`);
  console.log(`${median(callsOf)} function calls`);
  if (!values.files) return;
  const typical = seen.toSorted((left, right) => callsOf(left) - callsOf(right))[Math.floor(seen.length / 2)]!;
  console.log('\n| file | functions | calls |\n|---|---|---|');
  const byFile = [...Map.groupBy(typical, ({ file }) => file)].map(([file, parts]) => ({
    name: new URL(file, 'file:').pathname.slice(checkout.length + 1),
    functions: parts.length,
    calls: callsOf(parts),
  }));
  for (const { name, functions, calls } of byFile.toSorted((left, right) => right.calls - left.calls))
    console.log(`| ${name} | ${functions} | ${calls} |`);
}
