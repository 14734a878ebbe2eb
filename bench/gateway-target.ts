import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { LISTENING, readPrinted } from '../scripts/started-demo.ts';
import { type OrderLine, openOrderLine } from './order-line.ts';

/** What a gateway of the bench is configured with. */
interface ConfigOrder {
  readonly upstreamUrl: string;
  /** A PostgreSQL database; empty for the gateway's own: its local server, or what older versions have in its place. */
  readonly databaseUrl: string;
  /** A directory of this gateway's own. */
  readonly directory: string;
  /** How many partitions the database gets; not said to versions that have no such setting. */
  readonly partitions?: number;
  /** How many calls the provider is sent at a time; as many as there are by default if it is not said. */
  readonly connections?: number;
}

/** How a gateway of the bench is started: of which checkout, and on what. */
export interface GatewayOrder extends ConfigOrder {
  /** The root of a checkout with its `node_modules`. */
  readonly checkout: string;
  /** Starts Node. */
  readonly spawn: (args: string[], environment: Record<string, string>) => ChildProcess;
  /** A module that is loaded before the program, in place of the meter. */
  readonly meter?: string;
  /** Models beside `bench-model`, as lines of the configuration below `models`. */
  readonly models?: string;
  /** Flags for Node, such as those of a profile. */
  readonly flags: readonly string[];
}

/** A gateway that serves. */
export interface Program {
  readonly child: ChildProcess;
  readonly url: string;
  /** To what was loaded before the program. */
  readonly orders: OrderLine;
  stop(): Promise<void>;
}

/** A gateway that serves, with keys for calls on balances and on Coding Plans. */
export interface GatewayTarget extends Program {
  /** Of accounts with a balance; these keys have no limits. */
  readonly balanceKeys: readonly string[];
  /** Of accounts with a Coding Plan; these keys have every limit that there is, none of which is ever reached. */
  readonly codingKeys: readonly string[];
}

/** So that a batch has calls of several accounts. */
const ACCOUNTS = 16;
export const ADMIN_TOKEN = 'bench-admin-token';
const METER = fileURLToPath(new URL('./meter.ts', import.meta.url));

/**
 * Starts the program of a checkout as its users do, by its launcher and its configuration file, and makes accounts and keys by its
 * admin API: nothing of the checkout's source is imported, so it may be of any version that has these interfaces. The launcher
 * starts the Node of the checkout's modules.
 *
 * @throws Error if the program ends before it listens, or the admin API refuses something; it is then stopped.
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
 * Starts the program alone, on the data of an earlier start where there is one.
 *
 * @throws Error if the program ends before it listens.
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

/** Flags for the Node that a launcher starts. Values may have blanks; that of `--import` is a URL, which has none. */
export function nodeOptions(flags: readonly string[]): string {
  return flags.map((flag) => (/[\s"\\]/.test(flag) ? `"${flag.replace(/["\\]/g, '\\$&')}"` : flag)).join(' ');
}

/** Ends a target by its line. */
export async function endByClose(child: ChildProcess, orders: OrderLine): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit');
    orders.close();
    await ended;
  }
}

/** The data directory of a gateway of the bench. */
export const dataDirOf = (directory: string): string => join(directory, 'data');

/** A configuration with the model of most benches, whose calls go to `upstreamUrl`. */
export function benchConfig({ upstreamUrl, databaseUrl, directory, connections, partitions }: ConfigOrder): string {
  const spread = partitions === undefined ? '' : `, partitions: ${partitions}`;
  const atATime = connections === undefined ? '' : `, connections: ${connections}`;
  return `
server: { port: 0 }
database: { url: "${databaseUrl}", dataDir: ${dataDirOf(directory)}${spread} }
providers: { static: { protocol: chat, baseUrl: "${upstreamUrl}/v1", apiKey: bench${atATime} } }
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

/** Makes a verified account with what is said beside, and returns its id. */
export async function createAccount(url: string, more: object = {}): Promise<string> {
  return (await admin<{ id: string }>(url, '/accounts', { name: 'bench', verified: true, ...more })).id;
}

export async function createKey(url: string, accountId: string, limits: object = {}): Promise<string> {
  return (await admin<{ key: string }>(url, `/accounts/${accountId}/keys`, { name: 'bench', ...limits })).key;
}

/**
 * Asks the admin API of a gateway whose token is `ADMIN_TOKEN`: a POST if there is a body, else a GET.
 *
 * @throws Error with the response, if it is a refusal.
 */
export async function admin<Response>(url: string, path: string, body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' };
  const posted = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(`${url}/admin/v1${path}`, { headers, ...posted });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return (await response.json()) as Response;
}
