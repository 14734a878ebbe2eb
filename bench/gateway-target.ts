import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { LISTENING, readPrinted } from '../scripts/started-demo.ts';
import { type OrderLine, openOrderLine } from './order-line.ts';

/** Configuration of a gateway under test. */
interface ConfigOrder {
  readonly upstreamUrl: string;
  /** A PostgreSQL database. Empty for the gateway's own: its local server, or its counterpart in older versions. */
  readonly databaseUrl: string;
  /** A new directory for this gateway. */
  readonly directory: string;
  /** Number of partitions. Not configured for versions without this setting. */
  readonly partitions?: number;
  /** Maximum concurrent calls to the provider; by default the gateway's own default. */
  readonly connections?: number;
  /** Providers in addition to `static`, as members of a flow mapping that begin with a comma. */
  readonly providers?: string;
}

/** A checkout of the gateway, and how to start it. */
export interface GatewayOrder extends ConfigOrder {
  /** The root of a checkout with its `node_modules`. */
  readonly checkout: string;
  readonly spawn: (args: string[], environment: Record<string, string>) => ChildProcess;
  /** A module that is loaded before the program, in place of the meter. */
  readonly meter?: string;
  /** Models in addition to `bench-model`, as lines below `models` in the configuration. */
  readonly models?: string;
  /** Flags for Node, such as profiling. */
  readonly flags: readonly string[];
}

export interface Program {
  readonly child: ChildProcess;
  readonly url: string;
  /** Line to the module that is loaded before the program. */
  readonly orders: OrderLine;
  stop(): Promise<void>;
}

/** A running gateway with keys for calls on balances and on Coding Plans. */
export interface GatewayTarget extends Program {
  /** Keys of accounts with a balance, without limits. */
  readonly balanceKeys: readonly string[];
  /** Keys of accounts with a Coding Plan, with every limit, none of which is ever reached. */
  readonly codingKeys: readonly string[];
}

/** More than one, so that batches have calls of several accounts. */
const ACCOUNTS = 16;
export const ADMIN_TOKEN = 'bench-admin-token';
const METER = fileURLToPath(new URL('./meter.ts', import.meta.url));

/**
 * Starts the program of a checkout with its launcher and a configuration file, and creates accounts and keys through its admin API.
 * Imports nothing from the checkout, so it works with any version that has these interfaces. The launcher starts the Node in the
 * checkout's modules.
 *
 * @throws Error if the program exits before it listens, or the admin API refuses a request; the program is then stopped
 */
export async function startGatewayTarget(order: GatewayOrder): Promise<GatewayTarget> {
  const started = await startProgram(order);
  try {
    const balanceKeys: string[] = [];
    const codingKeys: string[] = [];
    for (let i = 0; i < ACCOUNTS; i++) {
      balanceKeys.push(await createBalanceKey(started.url));
      codingKeys.push(await createCodingKey(started.url));
    }
    return { ...started, balanceKeys, codingKeys };
  } catch (error) {
    await started.stop();
    throw error;
  }
}

/**
 * Starts the program alone, on the data of an earlier start if there is any.
 *
 * @throws Error if the program exits before it listens
 */
export async function startProgram(order: GatewayOrder): Promise<Program> {
  const { checkout, directory, flags } = order;
  mkdirSync(directory, { recursive: true });
  const configFile = join(directory, 'faregate.yaml');
  writeFileSync(configFile, configText(order));
  const orders = await openOrderLine();
  const child = order.spawn([join(checkout, 'bin/faregate.js'), 'serve', '--config', configFile], {
    ...orders.environment,
    FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    LOG_LEVEL: 'error',
    NODE_OPTIONS: nodeOptions([...flags, '--import', pathToFileURL(order.meter ?? METER).href]),
  });
  child.once('exit', orders.close);
  const stop = (): Promise<void> => endByClose(child, orders);
  try {
    const [, url] = await readPrinted(child)(LISTENING);
    return { child, url: url!, orders, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Flags for the Node that a launcher starts. Values may contain blanks, except the value of `--import`, which is a URL. */
export function nodeOptions(flags: readonly string[]): string {
  return flags.map((flag) => (/[\s"\\]/.test(flag) ? `"${flag.replace(/["\\]/g, '\\$&')}"` : flag)).join(' ');
}

/** Stops a target by closing its line. */
export async function endByClose(child: ChildProcess, orders: OrderLine): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit');
    orders.close();
    await ended;
  }
}

/** The data directory of a gateway under test. */
export const dataDirOf = (directory: string): string => join(directory, 'data');

/** A configuration with the model of most benches, routed to `upstreamUrl`. */
export function benchConfig({
  upstreamUrl,
  databaseUrl,
  directory,
  connections,
  partitions,
  providers = '',
}: ConfigOrder): string {
  const spread = partitions === undefined ? '' : `, partitions: ${partitions}`;
  const atATime = connections === undefined ? '' : `, connections: ${connections}`;
  return `
server: { port: 0 }
database: { url: "${databaseUrl}", dataDir: ${dataDirOf(directory)}${spread} }
providers: { static: { protocol: chat, baseUrl: "${upstreamUrl}/v1", apiKey: bench${atATime} }${providers} }
models:
  bench-model:
    maxOutputTokens: "1000"
    operations: [chat]
    price: { input: "1", output: "2" }
    routes: [{ provider: static, model: bench-upstream }]
`;
}

function configText(order: GatewayOrder): string {
  return `${benchConfig(order)}${order.models ?? ''}
plans:
  bench-plan:
    name: Bench
    models: [bench-model]
    fiveHourCalls: 100000000
    weeklyCalls: 100000000
    concurrency: 100000
    quotaTokens: 1000000000000000
    periodDays: 30
    inputByteLimit: 1MiB
    outputTokenLimit: 1000
`;
}

async function createBalanceKey(url: string): Promise<string> {
  const id = await createAccount(url);
  await admin(url, `/accounts/${id}/top-ups`, { amountYuan: '100000000' });
  return createKey(url, id);
}

async function createCodingKey(url: string): Promise<string> {
  const id = await createAccount(url);
  await admin(url, `/accounts/${id}/subscriptions`, { planId: 'bench-plan' });
  const limits = { dailySpendCapYuan: '100000000', dailyCalls: 1_000_000_000, concurrency: 100_000 };
  return createKey(url, id, limits);
}

/** Creates a verified account with these members; returns its id. */
export async function createAccount(url: string, more: object = {}): Promise<string> {
  return (await admin<{ id: string }>(url, '/accounts', { name: 'bench', verified: true, ...more })).id;
}

export async function createKey(url: string, accountId: string, limits: object = {}): Promise<string> {
  return (await admin<{ key: string }>(url, `/accounts/${accountId}/keys`, { name: 'bench', ...limits })).key;
}

/**
 * Sends a request to the admin API of a gateway whose token is `ADMIN_TOKEN`: a POST if there is a body, else a GET.
 *
 * @throws Error with the response if it is refused
 */
export async function admin<Response>(url: string, path: string, body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' };
  const posted = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(`${url}/admin/v1${path}`, { headers, ...posted });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return (await response.json()) as Response;
}
