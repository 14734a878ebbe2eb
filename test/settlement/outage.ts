import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeRecord, type SettlementRecord } from '../../src/accounting/settlement/settlement-record.ts';
import type { Database, DatabasePool } from '../../src/db/database.ts';
import { isMissing } from '../../src/journal/disk.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import type { Family } from '../support/families.ts';
import { startGateway, type TestAccount, type TestGateway, type TestGatewayOptions } from '../support/gateway.ts';
import { json, type Respond, sse } from '../support/provider.ts';
import { partitionsOfFile } from '../support/scope.ts';
import { behind } from '../support/spread-database.ts';
import { until } from '../support/until.ts';

/** Helpers for tests of the ends of calls: a database that goes down as a whole, and the contents of the journal. */

/** How a statement fails: before the database receives it, or after it was carried out, so that its reply is lost. */
export type When = 'before' | 'after';
export const whens: readonly When[] = ['before', 'after'];

/** Stands between a gateway and its database, and takes it down. */
export interface Outage {
  /** The database for the gateway. */
  readonly database: Database;
  /** From now on every statement fails as a lost connection does. */
  begin(when?: When): void;
  end(): void;
}

export function createOutage(real: Database): Outage {
  let failing: When | null = null;
  async function run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (failing === 'before') throw connectionLost();
    const result = await work();
    if (failing === 'after') throw connectionLost();
    return result;
  }
  const pool = (target: DatabasePool): DatabasePool => ({
    query: (statement, parameters, signal) => run(() => target.query(statement, parameters, signal)),
    transaction: (work) => run(() => target.transaction(work)),
    transactionWithDirectory: (work) => run(() => target.transactionWithDirectory(work)),
  });
  return {
    database: behind(real, (handle) => ({
      ...pool(handle),
      pool: (name) => pool(handle.pool(name)),
      readThenWrite: (transaction, signal) => run(() => handle.readThenWrite(transaction, signal)),
      openTables: () => run(() => handle.openTables()),
      audit: (work) => run(() => handle.audit(work)),
      openSnapshots: () => run(() => handle.openSnapshots()),
      longTransaction: (work) => run(() => handle.longTransaction(work)),
      script: (sql) => run(() => handle.script(sql)),
      subscribe: (channel, onPayload, onReconnect) => handle.subscribe(channel, onPayload, onReconnect),
      figures: () => handle.figures(),
      close: () => handle.close(),
    })),
    begin(when = 'before') {
      failing = when;
    },
    end() {
      failing = null;
    },
  };
}

function connectionLost(): Error {
  return Object.assign(new Error('the connection was reset'), { code: 'ECONNRESET' });
}

/** A gateway whose database can go down, with a data directory that outlives it. */
export interface Scene {
  readonly gateway: TestGateway;
  readonly outage: Outage;
  readonly stored: TestDatabase;
  readonly dataDir: string;
  /** Stops everything; fails if something is still reserved or an invariant of the ledger is broken. */
  close(): Promise<void>;
}

export async function setScene(options: TestGatewayOptions = {}): Promise<Scene> {
  const stored = await createTestDatabase(partitionsOfFile);
  const outage = createOutage(stored.database);
  const dataDir = temporaryDataDir();
  const gateway = await startGateway({
    stored,
    database: outage.database,
    dataDir,
    ...options,
    timing: { retryDelayMs: 1, ...options.timing },
  });
  return {
    gateway,
    outage,
    stored,
    dataDir,
    async close() {
      outage.end();
      try {
        await gateway.stop();
      } finally {
        await stored.remove();
        rmSync(dataDir, { recursive: true, force: true });
      }
    },
  };
}

export function temporaryDataDir(): string {
  return mkdtempSync(join(tmpdir(), 'faregate-tests-'));
}

/** Every file of the journals in a data directory. */
export function journalFiles(dataDir: string): string[] {
  const root = join(dataDir, 'journal');
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((name) => join(root, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
}

export function journalText(dataDir: string): string {
  return journalFiles(dataDir).map(readIfThere).join('\n');
}

/** Tolerates files that a journal deletes meanwhile. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return '';
    throw error;
  }
}

/** The settlement records in the journals, read like a replay reads them. */
export function journalEntries(dataDir: string): SettlementRecord[] {
  return journalText(dataDir)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => decodeRecord(line.slice('00000000 '.length)));
}

/** Resolves when everything that was in the journals is in the database. */
export async function journalEmptied(dataDir: string): Promise<void> {
  await until(() =>
    journalFiles(dataDir).every((path) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0),
  );
}

/** Resolves when the journals have that many settlement records. */
export async function journalHolds(dataDir: string, count: number): Promise<void> {
  await until(
    () =>
      journalText(dataDir)
        .split('\n')
        .filter((line) => line !== '').length === count,
  );
}

/** The complete response in one write, its end included. */
export function success(family: Family, isStream: boolean): Respond {
  return isStream ? sse([family.stream(['Hello', ' there']).join('')]) : json(200, family.whole());
}

/** The same as its client receives it, which has not asked for usage. */
export function successText(family: Family, isStream: boolean): string {
  if (!isStream) return JSON.stringify(family.whole());
  return family
    .stream(['Hello', ' there'])
    .filter((event) => family.name === 'messages' || !/"usage":\{/.test(event))
    .join('');
}

/** Responds once something has happened. */
export function afterwards(happens: () => void | Promise<void>, respond: Respond): Respond {
  return async (request, response) => {
    await happens();
    await respond(request, response);
  };
}

/** Charges of an account in the database, read without the gateway. */
export async function countCharges(stored: Pick<TestDatabase, 'database'>, accountId: string): Promise<number> {
  const [row] = await stored.database.query<{ n: number }>(
    {
      name: 'test.count-charges-of',
      text: `select count(*)::int as n from ledger_entries where account_id = $1 and kind = 'charge'`,
    },
    [accountId],
  );
  return row!.n;
}

export async function countReservations(stored: Pick<TestDatabase, 'database'>, accountId: string): Promise<number> {
  const [row] = await stored.database.query<{ n: number }>(
    { name: 'test.count-reservations-of', text: 'select count(*)::int as n from reservations where account_id = $1' },
    [accountId],
  );
  return row!.n;
}

/** The newest record of an account, which has to be its only one. */
export async function onlyCall(gateway: TestGateway, account: TestAccount) {
  const { body } = await gateway.admin('GET', `/calls?accountId=${account.id}`);
  assert.equal(body.data.length, 1, JSON.stringify(body.data));
  return body.data[0];
}
