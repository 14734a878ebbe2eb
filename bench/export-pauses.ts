import { fork } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { createGateway } from '../src/app/gateway.ts';
import { parseConfig } from '../src/config/load.ts';
import type { Database } from '../src/db/database.ts';
import { openDatabases } from '../src/db/databases.ts';
import { migrate } from '../src/db/migrate.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { removeDirectory } from '../test/support/local-database.ts';
import { ADMIN_TOKEN, benchConfig, createAccount, createKey } from './gateway-target.ts';
import { createProvider } from './load/provider.ts';
import { send, type Waited } from './paced-calls.ts';
import { quantile } from './quantile.ts';

/**
 * How long a gateway on a local server pauses, and what its calls notice, while all of the database is exported:
 *
 *     node bench/export-pauses.ts [calls=200000] [accounts=20]
 *
 * The provider and the callers (50 calls a second) are another process, which also reads the export.
 */

const CALLS_A_SECOND = 50;
const IDLE_MS = 10_000;

interface Order {
  readonly url: string;
  readonly key: string;
  /** `null`: until the export has been read. */
  readonly forMs: number | null;
}

interface Report {
  readonly latenciesMs: number[];
  readonly failed: number;
  readonly exportedBytes: number;
  readonly tookMs: number;
}

if (process.argv[2] === 'callers') serveCallers();
else await measure(Number(process.argv[2] ?? 200_000), Number(process.argv[3] ?? 20));

async function measure(calls: number, accounts: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'faregate-export-'));
  const callers = fork(fileURLToPath(import.meta.url), ['callers']);
  const message = <Result>(): Promise<Result> => new Promise((resolve) => callers.once('message', resolve as never));
  try {
    const providerUrl = await message<string>();
    const databases = await openDatabases({ url: '', dataDir: join(directory, 'data') }, silentLogger);
    const database = databases.directory;
    await migrate(database);
    await fill(database, calls, accounts);
    const order = { upstreamUrl: providerUrl, databaseUrl: '', directory };
    const config = parseConfig(benchConfig(order), 'bench.yaml', {});
    const gateway = await createGateway({
      config,
      databases,
      logger: silentLogger,
      adminTokens: [ADMIN_TOKEN],
      localToken: ADMIN_TOKEN,
    });
    const url = await gateway.listen();
    const key = await createKey(url, await createAccount(url, { balanceYuan: '1000' }));
    for (const forMs of [IDLE_MS, null]) {
      const delays = monitorEventLoopDelay({ resolution: 1 });
      delays.enable();
      const report = message<Report>();
      callers.send({ url, key, forMs } satisfies Order);
      print(forMs === null ? 'during an export' : 'without an export', await report, delays);
      delays.disable();
    }
    await gateway.close();
  } finally {
    callers.kill();
    removeDirectory(directory);
  }
}

function print(title: string, report: Report, delays: ReturnType<typeof monitorEventLoopDelay>): void {
  const { latenciesMs } = report;
  const [p50, p99, most] = [0.5, 0.99, 1].map((share) => quantile(latenciesMs, share).toFixed(1));
  const ms = (ns: number): string => (ns / 1e6).toFixed(1);
  console.log(
    `${title}: ${(report.tookMs / 1000).toFixed(1)} s, ${(report.exportedBytes / 1e6).toFixed(1)} MB; event loop late by ` +
      `p99 ${ms(delays.percentile(99))} ms, at most ${ms(delays.max)} ms; ${latenciesMs.length} calls, ${report.failed} failed, ` +
      `p50 ${p50} ms, p99 ${p99} ms, at most ${most} ms`,
  );
}

/** Accounts with calls of earlier months and their charges. */
async function fill(database: Database, calls: number, accounts: number): Promise<void> {
  const each = Math.ceil(calls / accounts);
  for (let i = 0; i < accounts; i++) {
    const id = `acct_bench${String(i).padStart(6, '0')}`;
    await database.script(`
insert into accounts values ('${id}', 'bench', null, true, 'active', now(), now());
insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, created_at)
values ('${id}', 1, 'top_up', 1000000000000, 1000000000000, now());
insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, call_id, created_at)
select '${id}', n + 1, 'charge', -1000, 1000000000000 - n * 1000, 'call_${i}_' || n, now() from generate_series(1, ${each}) n;
insert into calls (account_id, id, started_at, ended_at, key_id, context, operation, model, provider, provider_model, is_stream,
  status, http_status, request_id, usage_source, input_tokens, cached_input_tokens, cache_write_tokens,
  cache_write_1h_tokens, output_tokens, reasoning_tokens, price_rule, charge_nano)
select '${id}', 'call_${i}_' || n, now() - n * interval '1 second', now(), 'key_bench', 'balance', 'chat', 'm', 'p', 'm', false,
  'succeeded', 200, 'req_' || n, 'observed', 100, 0, 0, 0, 100, 0, 'base', 1000 from generate_series(1, ${each}) n;
insert into balances (account_id, balance_nano, last_entry_no) values ('${id}', 1000000000000 - ${each} * 1000, ${each} + 1);`);
  }
}

/** The other process: a provider that responds at once, and callers. */
function serveCallers(): void {
  const { server } = createProvider();
  server.listen(0, '127.0.0.1', () => {
    process.send!(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  process.on('message', (order: Order) => void callAndReport(order));
}

async function callAndReport({ url, key, forMs }: Order): Promise<void> {
  const startMs = performance.now();
  const calls: Promise<Waited>[] = [];
  const timer = setInterval(() => calls.push(send(url, key)), 1000 / CALLS_A_SECOND);
  const exportedBytes =
    forMs === null ? await readExport(url) : await new Promise<number>((resolve) => setTimeout(resolve, forMs, 0));
  clearInterval(timer);
  const waited = await Promise.all(calls);
  const latenciesMs = waited.map(({ ms }) => ms);
  const failed = waited.filter(({ status }) => status !== 200).length;
  process.send!({ latenciesMs, failed, exportedBytes, tookMs: performance.now() - startMs } satisfies Report);
}

async function readExport(url: string): Promise<number> {
  const response = await fetch(`${url}/admin/v1/export`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  let bytes = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) bytes += chunk.length;
  return bytes;
}
