import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { parseYuan } from '../src/lib/yuan.ts';
import { removeDirectory } from '../test/support/local-database.ts';
import { startPostgresServer } from '../test/support/postgres-server.ts';
import { createDatabase } from './create-database.ts';
import { admin, type GatewayOrder, startGatewayTarget, startProgram } from './gateway-target.ts';
import { spawnGateway } from './processes.ts';
import { REPOSITORY } from './revisions.ts';
import { DATABASE_KINDS, type DatabaseKind } from './targets.ts';

/**
 * What is recorded of calls and charges after `kill -9`: the gateway is killed while clients make calls, and restarted. Compares complete
 * responses with charges, call by call, by id.
 *
 *   node bench/killed.ts [rounds]
 *
 * A response that was delivered and not charged is lost revenue. A charge without delivery may be a response that the provider completed
 * after the client had left. The exit code is 1 if a delivered call is not charged exactly once.
 */
const ROUNDS = Number(process.argv[2] ?? 5);
const CONNECTIONS = 64;
/** After the first call. Each round kills at another moment of a batch. */
const KILLED_AFTER_MS = [700, 1_100, 1_300, 1_700, 1_900];
/** Long enough that some calls are at the provider at every kill. */
const PROVIDER_MS = 5;
const CHARGE_NANO = 2_000_000n;
const USAGE = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };

/** The figures of a round, in print order. */
interface Killed {
  readonly delivered: number;
  readonly servedByProvider: number;
  readonly charged: number;
  readonly unresolved: number;
  /** Delivered, but not charged exactly once. */
  readonly deliveredUncharged: number;
  /** From the restart until the gateway serves, and until no call is in flight. */
  readonly servesAfterMs: number;
  readonly resolvedAfterMs: number;
}

const directory = mkdtempSync(join(tmpdir(), 'faregate-killed-'));
const postgres = await startPostgresServer(directory);
let served = 0;
const provider = createServer((incoming, response) => {
  incoming.resume().on('end', () => {
    served++;
    const message = { role: 'assistant', content: 'Hello!' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    const body = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm', choices, usage: USAGE };
    setTimeout(() => response.setHeader('content-type', 'application/json').end(JSON.stringify(body)), PROVIDER_MS);
  });
}).listen(0, '127.0.0.1');
await once(provider, 'listening');
try {
  console.log(
    '| | delivered | served by the provider | charged | unresolved | delivered, not charged once | serves after ms | all resolved after ms |',
  );
  console.log(`|---|${'---|'.repeat(7)}`);
  for (const kind of DATABASE_KINDS) {
    for (let round = 0; round < ROUNDS; round++) print(kind, await kill(kind, round));
  }
} finally {
  provider.close();
  await postgres.stop();
  removeDirectory(directory);
}

function print(kind: DatabaseKind, killed: Killed): void {
  const cells = Object.values(killed).map((each: number) => each.toFixed(0));
  console.log(`| ${kind} | ${cells.join(' | ')} |`);
  if (killed.deliveredUncharged > 0) process.exitCode = 1;
}

async function kill(kind: DatabaseKind, round: number): Promise<Killed> {
  const name = `${kind.toLowerCase()}_${round}`;
  const order: GatewayOrder = {
    checkout: REPOSITORY,
    upstreamUrl: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
    databaseUrl: kind === 'PostgreSQL' ? await createDatabase(postgres.url, name) : '',
    directory: join(directory, name),
    spawn: spawnGateway,
    flags: [],
  };
  const gateway = await startGatewayTarget(order);
  served = 0;
  const calls = makeCalls(gateway.url, gateway.balanceKeys);
  await new Promise((resolve) => setTimeout(resolve, KILLED_AFTER_MS[round % KILLED_AFTER_MS.length]));
  const ended = once(gateway.child, 'exit');
  gateway.child.kill('SIGKILL');
  await ended;
  const delivered = await calls;
  const atMs = performance.now();
  const again = await startProgram(order);
  try {
    const servesAfterMs = performance.now() - atMs;
    while ((await count(again.url, 'in_flight')) > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    const resolvedAfterMs = performance.now() - atMs;
    const charged = await chargesByCall(again.url);
    return {
      delivered: delivered.length,
      servedByProvider: served,
      charged: [...charged.values()].filter((nano) => nano > 0n).length,
      unresolved: await count(again.url, 'unresolved'),
      deliveredUncharged: delivered.filter((id) => charged.get(id) !== CHARGE_NANO).length,
      servesAfterMs,
      resolvedAfterMs,
    };
  } finally {
    await again.stop();
  }
}

/** Makes calls until the gateway is gone; returns the ids of complete responses. */
async function makeCalls(url: string, keys: readonly string[]): Promise<string[]> {
  const agent = new Agent({ connections: CONNECTIONS });
  const delivered: string[] = [];
  const body = JSON.stringify({ model: 'bench-model', messages: [{ role: 'user', content: 'Hello!' }] });
  const one = async (key: string): Promise<void> => {
    for (;;) {
      const response = await request(`${url}/v1/chat/completions`, {
        dispatcher: agent,
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body,
      });
      const text = await response.body.text();
      if (response.statusCode !== 200) throw new Error(`a call failed: ${response.statusCode} ${text}`);
      JSON.parse(text);
      delivered.push(String(response.headers['x-faregate-call-id']));
    }
  };
  const clients = Array.from({ length: CONNECTIONS }, (_, i) => one(keys[i % keys.length]!));
  const ends = await Promise.allSettled(clients);
  await agent.destroy();
  for (const end of ends) {
    if (end.status === 'rejected' && String(end.reason).includes('a call failed')) throw end.reason;
  }
  return delivered;
}

interface CallPage {
  readonly data: readonly { readonly id: string; readonly status: string; readonly chargeYuan: string | null }[];
  readonly nextCursor: string | null;
}

async function* callsOf(url: string, query = ''): AsyncGenerator<CallPage['data'][number]> {
  let cursor: string | null = null;
  do {
    const after: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: CallPage = await admin<CallPage>(url, `/calls?limit=500${query}${after}`);
    yield* page.data;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

async function count(url: string, status: string): Promise<number> {
  let calls = 0;
  for await (const _ of callsOf(url, `&status=${status}`)) calls++;
  return calls;
}

/** The charge of each recorded call. @throws Error if a call has two records */
async function chargesByCall(url: string): Promise<ReadonlyMap<string, bigint>> {
  const charges = new Map<string, bigint>();
  for await (const { id, chargeYuan } of callsOf(url)) {
    if (charges.has(id)) throw new Error(`call ${id} is on record twice`);
    charges.set(id, chargeYuan === null ? 0n : (parseYuan(chargeYuan) ?? 0n));
  }
  return charges;
}
