import { hash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { type Dispatcher, Pool } from 'undici';

/**
 * The least code in Node that gives the guarantees of a call: it looks up the key, commits the hold before calling the provider, relays
 * the response, reads its usage, and commits charge, ledger entry and record before a non-streaming response ends. Like the gateway, it
 * batches calls in transactions that lock, read and then write. It has no time limits, journal, limits, failover or errors: a lower
 * bound, not a design. Streams are not charged, because their chunks are compared.
 *
 *   node bench/floor.ts PROVIDER_URL DATABASE_URL
 *
 * Reports its address to its parent.
 */
const [providerUrl, databaseUrl] = process.argv.slice(2) as [string, string];
const ACCOUNTS = 16;

const provider = new Pool(providerUrl, { connections: 4096, allowH2: false });
const database = new pg.Client(databaseUrl);
await database.connect();
await database.query(`
create table accounts (id int primary key, balance bigint not null, reserved bigint not null default 0);
create table limits (account int primary key, a bigint default 0, b bigint default 0, c bigint default 0, at timestamptz default now());
create table reservations (id text primary key, account int not null, amount bigint not null, key text, model text, at timestamptz default now());
create table calls (id text primary key, account int not null, key text, model text, provider text, status int, input int, output int,
  cached int, charge bigint, began timestamptz, ended timestamptz, ms real, first_ms real, ip text, agent text, operation text, stream bool,
  route text, attempts int, request_bytes int, response_bytes int, price jsonb, request_id text);
create table ledger (account int, call text, amount bigint, balance bigint, at timestamptz default now());
insert into accounts select i, 1e15 from generate_series(0, ${ACCOUNTS - 1}) i;
insert into limits (account) select generate_series(0, ${ACCOUNTS - 1})`);

interface Reservation {
  readonly id: string;
  readonly account: number;
  readonly amount: number;
  readonly key: string;
  readonly model: string;
}

interface Ended extends Reservation {
  readonly charge: number;
  readonly [column: string]: unknown;
}

interface Waiting<Row> {
  readonly row: Row;
  readonly done: () => void;
}

const LOCK = 'select * from accounts where id = any ($1) order by id for update';
const LIMITS = 'select * from limits where account = any ($1)';
const RESERVED = 'select id, account, amount from reservations where id = any ($1)';
const ADMIT = `with r as (select * from json_to_recordset($1) as t (id text, account int, amount bigint, key text, model text)),
  i as (insert into reservations select id, account, amount, key, model from r),
  s as (select account, sum(amount) amount from r group by 1)
update accounts x set reserved = reserved + s.amount from s where x.id = s.account and x.balance - x.reserved >= s.amount`;
const END = `with r as (select * from json_to_recordset($1) as t (id text, account int, amount bigint, key text, model text, provider text,
    status int, input int, output int, cached int, charge bigint, began timestamptz, ended timestamptz, ms real, first_ms real, ip text,
    agent text, operation text, stream bool, route text, attempts int, request_bytes int, response_bytes int, price json, request_id text)),
  i as (insert into calls select id, account, key, model, provider, status, input, output, cached, charge, began, ended, ms, first_ms,
    ip, agent, operation, stream, route, attempts, request_bytes, response_bytes, price, request_id from r),
  d as (delete from reservations q using r where q.id = r.id),
  l as (insert into ledger select r.account, r.id, -r.charge, x.balance from r join accounts x on x.id = r.account),
  s as (select account, sum(charge) charge, sum(amount) amount from r group by 1)
update accounts x set balance = balance - s.charge, reserved = reserved - s.amount from s where x.id = s.account`;

let admissions: Waiting<Reservation>[] = [];
let ends: Waiting<Ended>[] = [];
let isWriting = false;

const ask = (name: string, text: string, values: readonly unknown[]): Promise<pg.QueryResult> =>
  database.query({ name, text, values: [...values] });

/** Writes pending items in one transaction, repeated until none are left. */
async function write(): Promise<void> {
  if (isWriting) return;
  isWriting = true;
  while (admissions.length > 0 || ends.length > 0) {
    const [admitted, ended] = [admissions, ends];
    [admissions, ends] = [[], []];
    const begin = database.query('begin');
    await decide(begin, admitted, ended);
    const sent: Promise<unknown>[] = [];
    if (ended.length > 0) sent.push(ask('end', END, [JSON.stringify(ended.map(({ row }) => row))]));
    if (admitted.length > 0) sent.push(ask('admit', ADMIT, [JSON.stringify(admitted.map(({ row }) => row))]));
    sent.push(database.query('commit'));
    await Promise.all(sent);
    for (const { done } of ended) done();
    for (const { done } of admitted) done();
  }
  isWriting = false;
}

/** Locks the accounts, reads their limits, and decides. */
async function decide(
  begin: Promise<unknown>,
  admitted: readonly Waiting<Reservation>[],
  ended: readonly Waiting<Ended>[],
): Promise<void> {
  const accounts = [...new Set([...ended, ...admitted].map(({ row }) => row.account))];
  const [, locked] = await Promise.all([
    begin,
    ask('lock', LOCK, [accounts]),
    ask('limits', LIMITS, [accounts]),
    ask('reserved', RESERVED, [ended.map(({ row }) => row.id)]),
  ]);
  const states = new Map(
    locked.rows.map((row) => [row.id, { balance: BigInt(row.balance), reserved: BigInt(row.reserved) }]),
  );
  for (const { row } of ended) {
    const state = states.get(row.account)!;
    state.balance -= BigInt(row.charge);
    state.reserved -= BigInt(row.amount);
  }
  for (const { row } of admitted) {
    const state = states.get(row.account)!;
    if (state.balance - state.reserved < BigInt(row.amount))
      throw new Error('an account of the floor has money enough');
    state.reserved += BigInt(row.amount);
  }
}

const principals = new Map(
  Array.from({ length: ACCOUNTS }, (_, account) => [hash('sha256', `key${account}`, 'base64'), account]),
);
let serial = 0;
const prefix = randomBytes(6).toString('hex');
const newId = (): string => `call_${prefix}${(serial++).toString(36).padStart(8, '0')}`;

function serve(request: IncomingMessage, response: ServerResponse): void {
  const began = Date.now();
  const beganAt = performance.now();
  const account = principals.get(hash('sha256', (request.headers.authorization ?? '').slice(7), 'base64'));
  if (account === undefined) {
    response.writeHead(401).end();
    return;
  }
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const body = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
    const { model, max_tokens: outputMax = 1000 } = JSON.parse(body.toString());
    const call = { id: newId(), account, amount: body.length * 1000 + outputMax * 2000, key: 'k', model };
    admissions.push({ row: call, done: () => relay(request, response, { body, call, began, beganAt }) });
    void write();
  });
}

interface Call {
  readonly body: Buffer;
  readonly call: Reservation;
  readonly began: number;
  readonly beganAt: number;
}

function relay(request: IncomingMessage, response: ServerResponse, { body, call, began, beganAt }: Call): void {
  const received: Buffer[] = [];
  let status = 0;
  let isStream = false;
  let firstAt = 0;
  const headers = { 'content-type': 'application/json', authorization: 'Bearer bench' };
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart: () => undefined,
    onResponseStart(_controller, code, responseHeaders) {
      status = code;
      firstAt = performance.now();
      isStream = String(responseHeaders['content-type']).startsWith('text/event-stream');
      if (isStream) response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': call.id });
    },
    onResponseData(_controller, piece) {
      if (isStream) response.write(piece);
      else received.push(piece);
    },
    onResponseEnd() {
      if (isStream) return void response.end();
      const bytes = received.length === 1 ? received[0]! : Buffer.concat(received);
      const { prompt_tokens: input, completion_tokens: output } = JSON.parse(bytes.toString()).usage;
      const charge = input * 1000 + output * 2000;
      const ended = Date.now();
      const of = { provider: 'up', operation: 'chat', stream: false, route: 'up/m', attempts: 1, cached: 0 };
      const client = { ip: request.socket.remoteAddress, agent: request.headers['user-agent'] ?? null };
      const times = { began: new Date(began), ended: new Date(ended), ms: ended - began, first_ms: firstAt - beganAt };
      const sizes = { request_bytes: body.length, response_bytes: bytes.length, request_id: call.id };
      const row = {
        ...call,
        ...of,
        ...client,
        ...times,
        ...sizes,
        status,
        input,
        output,
        charge,
        price: { input: '1' },
      };
      const done = (): void => {
        response.writeHead(200, {
          'content-type': 'application/json',
          'content-length': bytes.length,
          'x-request-id': call.id,
        });
        response.end(bytes);
      };
      ends.push({ row, done });
      void write();
    },
    onResponseError: () => void response.destroy(),
  };
  provider.dispatch({ method: 'POST', path: request.url!, headers, body }, handler);
}

const server = createServer(serve);
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ url: `http://127.0.0.1:${port}`, keys: Array.from({ length: ACCOUNTS }, (_, i) => `key${i}`) });
});
