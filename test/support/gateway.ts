import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import type { SettlementTiming } from '../../src/accounting/settlement/settlement.ts';
import { createGateway, type Gateway } from '../../src/app/gateway.ts';
import type { NoticeOptions } from '../../src/app/notices.ts';
import type { PriceSourceTiming } from '../../src/app/price-source.ts';
import type { AbortLimits } from '../../src/calls/relay/client-abort.ts';
import type { RequestWorkersOptions } from '../../src/calls/request-workers.ts';
import { splitConfig } from '../../src/config/catalog-text.ts';
import { parseConfig } from '../../src/config/load.ts';
import { ConfigLoads } from '../../src/config/loads.ts';
import { NodeConfig } from '../../src/config/node-config.ts';
import type { Config } from '../../src/config/schema.ts';
import type { SealingKey } from '../../src/config/sealed-secrets/sealing.ts';
import type { Database } from '../../src/db/database.ts';
import type { QuestionTiming } from '../../src/db/questions/database-questions.ts';
import type { Disk } from '../../src/journal/disk.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';
import { parseYuan } from '../../src/lib/yuan.ts';
import type { RandomSource } from '../../src/providers/routing/choose.ts';
import type { RequestObserver } from '../../src/requests/request-report.ts';
import { CANARIES, searchLogs } from './canaries.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { makeFastDirectory } from './fast-directory.ts';
import { handleOf } from './home-pools.ts';
import { type ObservedDatabase, type ObservedPartition, observeDatabase } from './observed-database.ts';
import { partition } from './partitioned.ts';
import { type ScriptedProvider, startProvider } from './provider.ts';
import { partitionsOfFile } from './scope.ts';
import { foundInChanges, secretsIn } from './shown-secrets.ts';
import { handlesOf, servedOf, spreadDatabase } from './spread-database.ts';
import { sql } from './sql.ts';

export const ADMIN_TOKEN = 'test-admin-token';
/** The admin token that commands on the gateway's machine use. */
export const LOCAL_TOKEN = 'test-local-token-1';

/** A real gateway on loopback with a scripted provider. `await using` stops it at the end of the block. */
export interface TestGateway extends AsyncDisposable {
  readonly url: string;
  readonly localToken: string;
  readonly provider: ScriptedProvider;
  readonly database: Database;
  /** The database as the gateway sees it. Its statements can be observed, delayed and failed. */
  readonly observed: ObservedDatabase;
  /** All partitions by number. The first one is `observed`, which also observes the statements of all others. */
  readonly partitions: readonly ObservedPartition[];
  readonly gateway: Gateway;
  /** The configuration file of a gateway with `catalog`. */
  readonly configFile: string;
  /** The data of the gateway; `openAnother` opens connections of a second node. */
  readonly stored: TestDatabase;
  /** Creates a verified account with a key and, by default, ¥100. */
  createAccount(options?: {
    balanceYuan?: string;
    dailySpendCapYuan?: string;
    verified?: boolean;
  }): Promise<TestAccount>;
  /** Sends a request to the admin API; returns status and body. */
  admin(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<AdminResponse>;
  /**
   * Stops everything. Fails if a statement named tables of the other home, a reservation is left, an invariant of the ledger is violated,
   * the audit log contains a secret, or a log contains a key, a credential, a prompt or a response.
   */
  stop(): Promise<void>;
}

export interface AdminResponse {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  readonly body: any;
}

export interface TestAccount {
  readonly id: string;
  readonly key: string;
  readonly keyId: string;
  /** In nano-yuan. */
  money(): Promise<{ balanceNano: bigint; heldNano: bigint }>;
  /** The newest call record, as the admin API returns it. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  lastCall(): Promise<any>;
  /** Waits until the database has that many completed calls of the account; returns the newest. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  endedCall(count?: number): Promise<any>;
}

export interface TestGatewayOptions {
  /** Serves from this database, as another node or after a restart. The gateway does not remove it. */
  readonly stored?: TestDatabase;
  /** With `stored`: the connections of this node. */
  readonly database?: Database;
  /** Number of partitions of the gateway's own database; by default one, or what the test run sets. */
  readonly partitions?: number;
  /** Also replaces the database's clock, unless that is the real one. */
  readonly clock?: Clock;
  readonly isDatabaseClockReal?: boolean;
  /** Clock for the rate of refusals. */
  readonly monotonicMs?: () => number;
  /** Random source for the choice between routes of equal priority. */
  readonly randomSource?: RandomSource;
  /** YAML added to the configuration, such as `server: { bodyLimit: 1KiB }`. */
  readonly server?: string;
  readonly billing?: string;
  /** YAML of the `routing` section. By default no breaker ever opens, so that tests may fail any number of calls. */
  readonly routing?: string;
  /** Directory of uploads and the journal. By default a temporary one. */
  readonly dataDir?: string;
  /** By default there is no time limit for settlement, so that slow machines change nothing. */
  readonly timing?: SettlementTiming & QuestionTiming;
  readonly abortLimits?: Partial<AbortLimits>;
  /** Whether all calls in flight in the database belong to dead nodes. */
  readonly isOnlyNode?: boolean;
  /** Where the journal writes. */
  readonly disk?: Disk;
  readonly requestWorkers?: RequestWorkersOptions;
  /** By default `LOCAL_TOKEN`. */
  readonly localToken?: string;
  /** By default nothing is logged. */
  readonly logger?: Logger;
  /** Receive the report of every request. */
  readonly observers?: readonly RequestObserver[];
  readonly models?: string;
  /** YAML of the `plans` section. */
  readonly plans?: string;
  /** YAML of the `groups` section. */
  readonly groups?: string;
  /** YAML of provider fields, such as `timeouts: { firstByte: 50ms }`. */
  readonly providerFields?: string;
  /** YAML of additional providers. */
  readonly providers?: string;
  /** YAML of the `notices` and `mail` sections. */
  readonly noticeSettings?: string;
  /** YAML of the `branding` and `console` sections. */
  readonly consoleSettings?: string;
  /** By default no scan runs, and only notices that a request queues are sent. */
  readonly notices?: NoticeOptions;
  /** How often the price source is checked, and how it is reached. */
  readonly priceSource?: PriceSourceTiming;
  /** How often usage is summed; by default never during a test. */
  readonly usageIntervalMs?: number;
  /** YAML of the `tracing` section. Spans are exported without waiting for a batch. */
  readonly tracing?: string;
  /** YAML of the `oidc` section. */
  readonly oidc?: string;
  /** By default no key for sealed secrets. */
  readonly sealingKeys?: () => readonly SealingKey[];
  readonly isStrict?: boolean;
  /** Serves from a configuration file, which it follows. With `database`, the catalog is in the database, and the file has the other sections. */
  readonly catalog?: Config['catalog'];
  /** With `catalog`: the variables for the file and the catalog. */
  readonly environment?: Record<string, string>;
  /** The time after which a pushed revision is in force. */
  readonly revisionLeadMs?: number;
}

/**
 * Models of the test configuration. Prices are primes in nano-yuan per token, so that wrong counts cannot produce the right sum: input
 * 3000, cached 700, write 5000, one-hour write 11000, output 13000; tokens of images 17000 in and 19000 out; a rerank call 17000, a
 * search unit 19000, an image 23000 to 37000.
 */
export const PRICE = '{ input: "3", cachedInput: "0.7", cacheWrite: "5", cacheWrite1h: "11", output: "13" }';

/** As `PRICE`, with a factor for each tier that compaction accepts, and for one that it does not. */
const TIERED_PRICE = `${PRICE.slice(0, -1)}, serviceTiers: { fast: "2", flex: "0.5", priority: "2", scale: "1" } }`;

/** Token counts by price. */
export interface PaidTokens {
  readonly input?: number;
  readonly cached?: number;
  readonly written?: number;
  readonly written1h?: number;
  readonly output?: number;
}

/** The charge at the prices above, in nano-yuan. Calculated independently of the gateway. */
export function costNano({ input = 0, cached = 0, written = 0, written1h = 0, output = 0 }: PaidTokens): bigint {
  return BigInt(3000 * input + 700 * cached + 5000 * written + 11_000 * written1h + 13_000 * output);
}

export function testConfigText(providerUrl: string, options: TestGatewayOptions = {}): string {
  return `
server: { port: 0, ${options.server ?? ''} }
database: { dataDir: ${options.dataDir ?? join(tmpdir(), 'faregate-tests')}, partitions: ${options.partitions ?? 1} }
billing: { timezone: Asia/Shanghai, ${options.billing ?? ''} }
routing: ${options.routing ?? '{ breaker: { failures: 1000000 } }'}
${options.tracing === undefined ? '' : `tracing: ${options.tracing}`}
providers:
  chatty: { protocol: chat, baseUrl: ${providerUrl}/v1, apiKey: provider-secret-key-1, ${options.providerFields ?? ''} }
  messy: { protocol: messages, vendor: anthropic, baseUrl: ${providerUrl}, apiKey: provider-secret-key-2, ${options.providerFields ?? ''} }
${options.providers ?? ''}
models:
  test-chat:
    aliases: [test-chat-latest]
    maxOutputTokens: "100"
    operations: [chat]
    price: ${PRICE}
    routes: [{ provider: chatty, model: upstream-chat }]
  test-messages:
    maxOutputTokens: "100"
    operations: [messages]
    price: ${PRICE}
    routes: [{ provider: messy, model: upstream-messages }]
  test-both:
    operations: [chat, messages]
    price: ${PRICE}
    routes: [{ provider: chatty, model: test-both }, { provider: messy, model: test-both }]
  test-hidden:
    listed: false
    operations: [chat]
    price: ${PRICE}
    routes: [{ provider: chatty, model: hidden }]
  test-completions:
    maxOutputTokens: "100"
    operations: [completions]
    price: ${PRICE}
    routes: [{ provider: chatty, model: completer }]
  test-embeddings:
    operations: [embeddings]
    price: ${PRICE}
    routes: [{ provider: chatty, model: embedder }]
  test-rerank:
    operations: [rerank]
    price: ${PRICE}
    routes: [{ provider: chatty, model: reranker }]
  test-rerank-calls:
    operations: [rerank]
    price: { perCall: "0.000017" }
    routes: [{ provider: chatty, model: reranker }]
  test-rerank-units:
    operations: [rerank]
    price: { perSearchUnit: "0.000019" }
    routes: [{ provider: chatty, model: reranker }]
  test-responses:
    aliases: [test-responses-latest]
    maxOutputTokens: "100"
    operations: [responses, compact]
    price: ${TIERED_PRICE}
    routes: [{ provider: chatty, model: upstream-responses }]
  test-images:
    operations: [images.generate, images.edit]
    price: { input: "3", imageInput: "17", output: "13", imageOutput: "19" }
    routes: [{ provider: chatty, model: painter }]
  gpt-image-2:
    aliases: [gpt-image-1.5, dall-e-2]
    operations: [images.generate, images.edit]
    price: { perImage: { low: "0.000023", high: { 1024x1024: "0.000029", default: "0.000031" }, default: "0.000037" } }
    routes: [{ provider: chatty, model: gpt-image-2 }]
  test-unrouted:
    operations: [chat]
    price: ${PRICE}
    routes: [{ provider: messy, model: nowhere }]
${options.models ?? ''}
${options.plans ?? ''}
${options.groups ?? ''}
${options.noticeSettings ?? ''}
${options.consoleSettings ?? ''}
${options.oidc === undefined ? '' : `oidc: ${options.oidc}`}
`;
}

/** Passwords of tests are no secrets. `src/people/passwords.test.ts` tests the real cost. */
const CHEAP_HASHES = { memoryKib: 8, passes: 1 };

const PATIENT_MS = 3_600_000;

/** Reuses connections. `fetch` would take half a millisecond more per request. */
const connections = new Agent({ keepAlive: true });

function writeConfig(file: string, text: string, { catalog, environment = {} }: TestGatewayOptions): NodeConfig {
  writeFileSync(file, catalog === 'file' ? text : `catalog: database\n${splitConfig(text).node}`);
  return new NodeConfig(file, environment);
}

export async function startGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  // If one dependency fails, those created before it are closed; otherwise they keep the test process alive.
  await using parts = new AsyncDisposableStack();
  const provider = await startProvider();
  parts.defer(() => provider.close());
  const stored: TestDatabase =
    options.stored ?? (await createTestDatabase(options.partitions === 1 ? 1 : partitionsOfFile));
  if (options.stored === undefined) parts.defer(() => stored.remove());
  const divided = (options.partitions ?? 1) === 1 ? null : await partition(stored, options.partitions!);
  if (divided !== null) parts.defer(() => divided.databases.close());
  const database = divided === null ? (options.database ?? stored.database) : spreadDatabase(divided.databases);
  const handles = handlesOf(database);
  const observed = observeDatabase(handles.directory);
  const partitions = [observed, ...handles.partitions.slice(1).map((each) => observed.also(each))];
  const dataDir = options.dataDir ?? makeFastDirectory('faregate-tests-');
  if (options.dataDir === undefined) parts.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const text = testConfigText(provider.url, { ...options, dataDir });
  const configFile = join(dataDir, 'faregate.yaml');
  const node = options.catalog === undefined ? null : writeConfig(configFile, text, options);
  const config = node === null ? parseConfig(text, 'test.yaml', {}) : node.parse().config;
  const configLoads = new ConfigLoads(node?.file ?? null, {}, options.clock ?? systemClock);
  const logs = searchLogs(options.logger ?? silentLogger, [...CANARIES, ADMIN_TOKEN]);
  const { localToken = LOCAL_TOKEN } = options;
  const strangers: unknown[] = [];
  const onStranger = (error: unknown): void => void strangers.push(error);
  const gateway = await createGateway({
    config,
    databases: {
      ...servedOf(divided === null ? observed.database : database),
      directory: {
        ...handleOf('directory', observed.database, onStranger),
        close: () => (divided?.databases ?? database).close(),
      },
      partitions: partitions.map((each) => handleOf('partition', each.database, onStranger)),
      ...(divided !== null && { figures: () => divided.databases.figures() }),
    },
    logger: logs.logger,
    adminTokens: [ADMIN_TOKEN, localToken],
    localToken,
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    ...(options.isDatabaseClockReal ? {} : { testDatabaseClock: options.clock }),
    ...(options.monotonicMs === undefined ? {} : { monotonicMs: options.monotonicMs }),
    ...(options.observers === undefined ? {} : { observers: options.observers }),
    ...(options.randomSource === undefined ? {} : { randomSource: options.randomSource }),
    ...(options.isOnlyNode === undefined ? {} : { isOnlyNode: options.isOnlyNode }),
    ...(options.disk === undefined ? {} : { disk: options.disk }),
    ...(options.requestWorkers === undefined ? {} : { requestWorkers: options.requestWorkers }),
    ...(options.abortLimits === undefined ? {} : { abortLimits: options.abortLimits }),
    ...(node === null ? {} : { node, configLoads }),
    ...(options.revisionLeadMs === undefined ? {} : { revisionLeadMs: options.revisionLeadMs }),
    ...(options.sealingKeys === undefined ? {} : { sealingKeys: options.sealingKeys }),
    ...(options.priceSource === undefined ? {} : { priceSource: options.priceSource }),
    checksResponses: true,
    hashCost: CHEAP_HASHES,
    traceTiming: { delayMs: 10 },
    usageIntervalMs: options.usageIntervalMs ?? 3_600_000,
    notices: { intervalMs: 3_600_000, ...options.notices },
    timing: { patienceMs: PATIENT_MS, questionMs: PATIENT_MS, ...options.timing },
  });
  parts.defer(() => gateway.close());
  if (node !== null) {
    const watcher = await gateway.followConfig(config, {
      loads: configLoads,
      onApplied: () => undefined,
      settleMs: 10,
    });
    parts.defer(() => watcher.close());
  }
  const url = await gateway.listen();
  const opened = parts.move();
  /** Secrets in responses of the admin API. The audit log must not contain them. */
  const shownSecrets: string[] = [];

  async function admin(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const authorization = `Bearer ${ADMIN_TOKEN}`;
    const { status, text } = await send(`${url}/admin/v1${path}`, method, body, { authorization, ...headers });
    const received = { status, body: text === '' ? null : JSON.parse(text) };
    if (status < 300) shownSecrets.push(...secretsIn(received.body));
    return received;
  }

  return {
    url,
    localToken,
    provider,
    gateway,
    configFile,
    stored,
    database,
    observed,
    partitions,
    admin,
    async createAccount({ balanceYuan = '100', dailySpendCapYuan, verified = true } = {}) {
      const account = await admin('POST', '/accounts', { name: 'tester', verified, dailySpendCapYuan, balanceYuan });
      assert.equal(account.status, 201, JSON.stringify(account.body));
      const id: string = account.body.id;
      const key = await admin('POST', `/accounts/${id}/keys`, { name: 'test' });
      assert.equal(key.status, 201, JSON.stringify(key.body));
      logs.add(key.body.key);
      const lastCall = async () => {
        const { body } = await admin('GET', `/calls?accountId=${id}&limit=1`);
        return body.data[0];
      };
      return {
        id,
        key: key.body.key,
        keyId: key.body.id,
        async money() {
          const { body } = await admin('GET', `/accounts/${id}`);
          return { balanceNano: parseYuan(body.balanceYuan)!, heldNano: parseYuan(body.heldYuan)! };
        },
        lastCall,
        async endedCall(count = 1) {
          await observed.callsEnded(id, count);
          return lastCall();
        },
      };
    },
    async stop() {
      try {
        const { body } = await admin('POST', '/audit');
        assert.equal(body.isSound, true, JSON.stringify(body.invariants, null, 1));
        for (const each of handles.partitions) {
          const [left] = await sql<{ n: bigint }>(each, 'select count(*) as n from reservations');
          assert.equal(left?.n, 0n, 'reservations were left behind');
        }
        assert.deepEqual(await foundInChanges(database, shownSecrets), [], 'the audit log has secrets');
      } finally {
        await opened.disposeAsync();
      }
      logs.assertNoneFound();
      assert.deepEqual(strangers, [], 'statements were run in the wrong home');
    },
    [Symbol.asyncDispose](this: TestGateway) {
      return this.stop();
    },
  };
}

/** Sends a request with a JSON body, if any, and reads the whole response. `agent: false` opens a new connection. */
export async function send(
  url: string,
  method: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
  agent: Agent | false = connections,
): Promise<{ status: number; text: string }> {
  const contentType = body === undefined ? {} : { 'content-type': 'application/json' };
  const outgoing = request(url, { method, agent, headers: { ...contentType, ...headers } });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on('response', resolve);
    outgoing.on('error', reject);
  });
  outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  const received = await response;
  return { status: received.statusCode!, text: await textOf(received) };
}

/** Asserts the total charges of an account that began with ¥100, and that nothing is reserved. */
export async function assertSpent(account: TestAccount, spentNano: bigint): Promise<void> {
  assert.deepEqual(await account.money(), { balanceNano: 100_000_000_000n - spentNano, heldNano: 0n });
}

/** Resolves when the gateway notices that the client of its next request disconnected. */
export function clientLeaves({ gateway }: TestGateway): Promise<void> {
  return new Promise((resolve) => {
    gateway.app.server.once('request', (_request: IncomingMessage, response: ServerResponse) => {
      response.once('close', () => resolve());
    });
  });
}

/** Collects the calls that reach the gateway from now on, including those that a client replays. */
export function watchCalls({ gateway }: TestGateway): IncomingMessage[] {
  const calls: IncomingMessage[] = [];
  gateway.app.server.on('request', (request: IncomingMessage) => {
    if (request.url?.startsWith('/v1/')) calls.push(request);
  });
  return calls;
}
