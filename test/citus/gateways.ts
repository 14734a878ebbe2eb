import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ADMIN_TOKEN, type Program, startProgram } from '../../bench/gateway-target.ts';
import { REPOSITORY } from '../../bench/revisions.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { until } from '../support/until.ts';
import { type ClusterDatabase, type ClusterPorts, rowsOf } from './databases.ts';

/** Two gateway processes on one database with several partitions, and clients that call both. */

/** The outcome of a call at its client. */
export interface Had {
  readonly partition: number;
  readonly status: number;
  readonly ms: number;
  /** Milliseconds since the clients began. */
  readonly atMs: number;
  readonly callId: string;
}

export interface Gateways extends AsyncDisposable {
  readonly schemas: readonly string[];
  /** All calls that have ended so far. */
  readonly calls: readonly Had[];
  /** Waits while calls continue. */
  pass(ms: number): Promise<void>;
  /**
   * Stops the calls, and waits until all are settled.
   *
   * @throws if a delivered call was not charged exactly once, another call was charged, or the audit finds an error
   */
  settle(): Promise<void>;
}

const USAGE = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };
const CLIENTS = 16;
const EVERY_MS = 100;

export async function startGateways(
  { coordinator }: ClusterPorts,
  { name, url }: ClusterDatabase,
  partitions: number,
): Promise<Gateways> {
  const directory = mkdtempSync(join(tmpdir(), 'faregate-gateways-'));
  const provider = createServer((incoming, response) => {
    incoming.resume().on('end', () => {
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }];
      const body = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm', choices, usage: USAGE };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    });
  });
  const { port, close } = await listenOnLoopback(provider);
  const order = (node: string) => ({
    checkout: REPOSITORY,
    upstreamUrl: `http://127.0.0.1:${port}`,
    databaseUrl: url,
    partitions,
    directory: join(directory, node),
    spawn: (args: string[], environment: Record<string, string>) =>
      spawn(process.execPath, args, {
        env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
        stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      }),
    flags: [],
  });
  const first = await startProgram(order('first'));
  const nodes: Program[] = [first, await startProgram(order('second'))];
  const schemas = Array.from({ length: partitions }, (_, n) => (n === 0 ? 'public' : `faregate_0${n}`));
  const clients: { readonly key: string; readonly partition: number }[] = [];
  for (let n = 0; n < CLIENTS; n++) {
    const { id } = await admin<{ id: string }>('/accounts', { name: 'c', verified: true, balanceYuan: '1000' });
    const { key } = await admin<{ key: string }>(`/accounts/${id}/keys`, { name: 'k' });
    const [row] = await rowsOf<{ place: number }>(
      coordinator,
      name,
      `select partition_no as place from accounts where id = '${id}'`,
    );
    clients.push({ key, partition: row!.place });
  }

  /** Responds with the id of the call, which is the only part that clients check. */
  async function call(node: string, key: string): Promise<{ readonly status: number; readonly body: string }> {
    const response = await fetch(`${node}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'bench-model', messages: [{ role: 'user', content: 'word' }] }),
    });
    await response.text();
    return { status: response.status, body: response.headers.get('x-faregate-call-id') ?? '' };
  }

  async function admin<Body>(path: string, given?: object): Promise<Body> {
    const response = await fetch(`${first.url}/admin/v1${path}`, {
      method: given === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${ADMIN_TOKEN}` },
      ...(given !== undefined && { body: JSON.stringify(given) }),
    });
    const body = await response.text();
    assert.ok(response.ok, body);
    return JSON.parse(body) as Body;
  }

  const calls: Had[] = [];
  const beganAtMs = performance.now();
  let isStopping = false;
  /** Each client calls the nodes in turn at a constant rate, and waits for each response. */
  const loops = clients.map(async ({ key, partition }, at) => {
    await new Promise((wait) => setTimeout(wait, (EVERY_MS * at) / clients.length));
    for (let n = at; !isStopping; n++) {
      const askedAtMs = performance.now();
      const { status, body } = await call(nodes[n % nodes.length]!.url, key);
      const endedAtMs = performance.now();
      calls.push({ partition, status, ms: endedAtMs - askedAtMs, atMs: endedAtMs - beganAtMs, callId: body });
      await new Promise((wait) => setTimeout(wait, EVERY_MS - Math.min(EVERY_MS, endedAtMs - askedAtMs)));
    }
  });

  const inAll = async <Row>(sql: (schema: string) => string): Promise<readonly Row[]> =>
    (await Promise.all(schemas.map((schema) => rowsOf<Row>(coordinator, name, sql(schema))))).flat();

  return {
    schemas,
    calls,
    pass: (ms) => new Promise((wait) => setTimeout(wait, ms)),
    async settle() {
      isStopping = true;
      await Promise.all(loops);
      await until(
        async () => (await inAll((schema) => `select call_id from ${schema}.reservations limit 1`)).length === 0,
      );
      const delivered = calls.filter(({ status }) => status === 200).map(({ callId }) => callId);
      const charged = () =>
        inAll<{ id: string; n: string }>(
          (schema) =>
            `select call_id as id, count(*) as n from ${schema}.ledger_entries where kind = 'charge' group by call_id`,
        );
      await until(async () => (await charged()).length >= delivered.length);
      const entries = await charged();
      assert.deepEqual(
        entries.filter(({ n }) => Number(n) !== 1),
        [],
        'a call was charged twice',
      );
      const ids = new Set(entries.map(({ id }) => id));
      assert.deepEqual(
        delivered.filter((id) => !ids.has(id)),
        [],
        'a delivered call was not charged',
      );
      assert.equal(entries.length, delivered.length, 'a call was charged that was not delivered');
      const audit = await admin<{ isSound: boolean; invariants: unknown }>('/audit', {});
      assert.ok(audit.isSound, JSON.stringify(audit.invariants));
    },
    async [Symbol.asyncDispose]() {
      isStopping = true;
      await Promise.allSettled(loops);
      await Promise.all(nodes.map((node) => node.stop()));
      await close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
