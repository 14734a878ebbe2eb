import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import pg from 'pg';
import { dumpDatabase } from '../test/fixtures/releases/dump.ts';
import { FixtureProvider } from '../test/fixtures/releases/fixture-provider.ts';
import {
  askDatabase,
  programOf,
  type ReleasedGateway,
  type ReleasedOptions,
  startReleasedGateway,
} from '../test/fixtures/releases/released-gateway.ts';
import {
  ACCOUNTS,
  type AccountName,
  type CallState,
  callsIn,
  type FixtureCall,
  type Made,
  type MadeAccount,
  PERSON,
  requestOf,
  UNDELIVERED,
} from '../test/fixtures/releases/scenario.ts';
import { call, startCall } from '../test/support/client.ts';
import { ask, sessionOf, tokenOf } from '../test/support/people.ts';
import { startPostgresServer } from '../test/support/postgres-server.ts';
import { type ScriptedProvider, startProvider } from '../test/support/provider.ts';

/**
 * Creates the fixture of a release (`test/fixtures/releases/README.md`) from this checkout or another one.
 *
 *   node scripts/release-fixture.ts <name of the release> [checkout]       takes a minute
 */
const [name, checkoutGiven] = process.argv.slice(2);
if (name === undefined || !/^[\w.-]+$/.test(name)) throw new Error('usage: release-fixture.ts <name> [checkout]');
const checkout = resolve(checkoutGiven ?? fileURLToPath(new URL('..', import.meta.url)));
const target = fileURLToPath(new URL(`../test/fixtures/releases/${name}`, import.meta.url));
if (existsSync(target)) throw new Error(`${target} already exists; the fixture of a release never changes`);

const directory = mkdtempSync(join(tmpdir(), 'faregate-fixture-'));
const dataDir = join(directory, 'data');
mkdirSync(dataDir);
const database = await startPostgresServer(directory);
try {
  await askDatabase(`${database.url}/postgres`, 'create database fixture');
  const databaseUrl = `${database.url}/fixture`;
  const made = await playScenario(databaseUrl);
  const fixture = join(directory, 'fixture');
  mkdirSync(fixture);
  exportTo(join(fixture, 'export.jsonl.gz'), databaseUrl);
  await dumpTo(join(fixture, 'database.sql.gz'), databaseUrl);
  cpSync(join(dataDir, 'journal'), join(fixture, 'journal'), { recursive: true });
  writeFileSync(join(fixture, 'made.json'), `${JSON.stringify(made, null, 2)}\n`);
  // Last, so that a failed run leaves nothing behind.
  cpSync(fixture, target, { recursive: true });
} finally {
  await database.stop();
  rmSync(directory, { recursive: true, force: true });
}

async function dumpTo(file: string, databaseUrl: string): Promise<void> {
  const migrations = join(checkout, 'src/db/migrations');
  const scripts = readdirSync(migrations)
    .sort()
    .map((script) => readFileSync(join(migrations, script), 'utf8'));
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  writeFileSync(file, gzipSync(await dumpDatabase(client, scripts), { level: 9 }));
  await client.end();
}

/** Runs a command of the release with its database. */
function command(databaseUrl: string, ...given: string[]): void {
  execFileSync(...programOf(checkout, given), {
    cwd: directory,
    env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl, FAREGATE_DATA_DIR: dataDir },
  });
}

function exportTo(file: string, databaseUrl: string): void {
  command(databaseUrl, 'db', 'export', file);
  // Recompressed at the best level.
  writeFileSync(file, gzipSync(gunzipSync(readFileSync(file)), { level: 9 }));
}

/** Runs three processes one after another on the same data, and kills each while its database is unreachable. */
async function playScenario(databaseUrl: string): Promise<Made> {
  const server = await startProvider();
  const provider = new FixtureProvider();
  server.respond = provider.respond;
  const options: ReleasedOptions = { checkout, providerUrl: server.url, dataDir, databaseUrl };
  const ids: Record<string, string> = {};
  const journal = join(dataDir, 'journal');

  const first = await startReleasedGateway(options);
  const accounts = await createAccounts(first);
  const play = { server, provider, accounts, ids, databaseUrl };
  await endInJournal(first, play, ['twice']);
  await first.kill();
  cpSync(journal, `${journal}.first`, { recursive: true });

  // The second process replays the journal at its start.
  const second = await startReleasedGateway(options);
  await endInJournal(second, play, ['late']);
  await second.kill();
  renameSync(journal, `${journal}.second`);

  // The third process finds no journal and considers the calls of the second one lost.
  const third = await startReleasedGateway(options);
  for (const late of callsIn('late')) await untilUnresolved(third, ids[late.name]!);
  for (const each of [...callsIn('settled'), ...callsIn('refused')]) {
    const response = await call(third.url + requestOf(each).path, accounts[each.account].key, requestOf(each).body, {
      headers: headersOf(each),
    });
    ids[each.name] = String(response.headers['x-faregate-call-id']);
  }
  const cookie = await signInPerson(third, accounts[PERSON.owns].id, databaseUrl);
  const webhook = await queueNotices(third);
  await beginAll(third, play, callsIn('inFlight'));
  const heldNano = await heldByName(play);
  await endInJournal(third, play, ['inJournal', 'failedInJournal']);
  await third.kill();
  for (const before of ['first', 'second']) cpSync(`${journal}.${before}`, journal, { recursive: true });
  dropEmptyFiles(journal);
  await server.close();
  return { madeAt: new Date().toISOString(), accounts, calls: ids, heldNano, cookie, webhook };
}

interface Play {
  readonly server: ScriptedProvider;
  readonly provider: FixtureProvider;
  readonly accounts: Record<AccountName, MadeAccount>;
  readonly ids: Record<string, string>;
  readonly databaseUrl: string;
}

async function createAccounts({ admin }: ReleasedGateway): Promise<Record<AccountName, MadeAccount>> {
  const made: [string, MadeAccount][] = [];
  for (const [account, { limits, isCoding, dailySpendCapYuan }] of Object.entries(ACCOUNTS)) {
    const { id } = await admin('POST', '/accounts', { name: account, verified: true, dailySpendCapYuan });
    await admin('POST', `/accounts/${id}/top-ups`, { amountYuan: '100' });
    if (isCoding) await admin('POST', `/accounts/${id}/subscriptions`, { planId: 'coder' });
    const key = await admin('POST', `/accounts/${id}/keys`, { name: account, ...limits });
    made.push([account, { id, keyId: key.id, key: key.key }]);
  }
  return Object.fromEntries(made) as Record<AccountName, MadeAccount>;
}

/** Returns a session cookie. */
async function signInPerson(gateway: ReleasedGateway, accountId: string, databaseUrl: string): Promise<string> {
  const { link } = await gateway.admin('POST', '/users', {
    name: PERSON.name,
    memberships: [{ accountId, role: 'owner' }],
  });
  // Tokens cannot grant the role of an operator.
  command(databaseUrl, 'user', 'role', PERSON.name, 'operator');
  const used = await ask(gateway, 'POST', '/links/use', { token: tokenOf(link), password: 'the password of Lin' });
  return sessionOf(used).cookie;
}

/** Queues notices for an address without a listener. */
async function queueNotices({ admin }: ReleasedGateway): Promise<Made['webhook']> {
  const { id, secret } = await admin('POST', '/webhooks', { url: 'http://127.0.0.1:9/hook' });
  for (let i = 0; i < UNDELIVERED; i++) await admin('POST', `/webhooks/${id}/test`);
  return { id, secret };
}

/** Starts calls one after another, so that each new reservation identifies its call. */
async function beginAll(gateway: ReleasedGateway, play: Play, calls: readonly FixtureCall[]): Promise<Promise<void>[]> {
  const ended: Promise<void>[] = [];
  for (const each of calls) {
    const { path, body } = requestOf(each);
    const before = await idsInFlight(play);
    const received = play.server.received(play.server.requests.length + 1);
    const { response } = startCall(gateway.url + path, play.accounts[each.account].key, body, {
      headers: headersOf(each),
    });
    await received;
    const [id] = [...(await idsInFlight(play))].filter((candidate) => !before.has(candidate));
    play.ids[each.name] = id!;
    ended.push(response.then(async (got) => void (await got.ended())));
    // Calls that stay in flight lose their connection at the end.
    ended.at(-1)!.catch(() => undefined);
  }
  return ended;
}

async function idsInFlight({ databaseUrl }: Play): Promise<Set<string>> {
  const rows = await askDatabase<{ call_id: string }>(databaseUrl, 'select call_id from reservations');
  return new Set(rows.map((row) => row.call_id));
}

/** Starts calls, makes the database unreachable and lets the calls finish. Their clients get responses, so the outcomes are durable. */
async function endInJournal(gateway: ReleasedGateway, play: Play, states: readonly CallState[]): Promise<void> {
  const ended = await beginAll(gateway, play, states.flatMap(callsIn));
  gateway.takeDatabaseDown();
  play.provider.release(states);
  await Promise.all(ended);
}

async function heldByName({ databaseUrl, ids }: Play): Promise<Record<string, string>> {
  const rows = await askDatabase<{ call_id: string; nano: string }>(
    databaseUrl,
    'select call_id, amount_nano::text as nano from reservations where amount_nano is not null',
  );
  const nanoOf = new Map(rows.map((row) => [row.call_id, row.nano]));
  const held = Object.entries(ids).map(([call, id]) => [call, nanoOf.get(id)] as const);
  return Object.fromEntries(held.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

async function untilUnresolved({ admin }: ReleasedGateway, id: string): Promise<void> {
  for (;;) {
    const { data } = await admin<{ data: { id: string }[] }>('GET', '/calls?status=unresolved');
    if (data.some((record) => record.id === id)) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function headersOf({ idempotencyKey }: FixtureCall): Record<string, string> {
  return idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
}

function dropEmptyFiles(journal: string): void {
  for (const file of readdirSync(journal, { recursive: true, encoding: 'utf8' })) {
    const path = join(journal, file);
    if (file.endsWith('.journal') && existsSync(path) && readFileSync(path).length === 0) rmSync(path);
  }
}
