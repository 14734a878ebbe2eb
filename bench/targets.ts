import { join } from 'node:path';
import { type DatabaseReading, watchServer } from './database-server.ts';
import { dataDirOf, endByClose, type GatewayOrder, startGatewayTarget } from './gateway-target.ts';
import type { CallShape } from './load/order.ts';
import type { MeterOrder, MeterReading } from './meter.ts';
import { openOrderLine } from './order-line.ts';
import { moveTree } from './process-tree.ts';
import { benchFile, nextMessage, OTHER_CORES, spawnGateway, spawnOnCore, TARGET_CORE } from './processes.ts';
import { BARE } from './report.ts';
import type { Scenario } from './scenarios.ts';
import type { Stage } from './stage.ts';

/** Usage of a target since it started. */
export interface TargetReading extends MeterReading {
  /** Usage of its database server; `null` if it has none, or it cannot be measured. */
  readonly database: DatabaseReading | null;
}

/** A running process under test. */
export interface Target {
  readonly name: string;
  /** `before`, `after`, or empty. */
  readonly version: string;
  readonly call: CallShape;
  /** Name of the target with which it is compared; absent: the bare proxy. */
  readonly twin?: string;
  read(order: MeterOrder): Promise<TargetReading>;
  stop(): Promise<void>;
}

/** The call that a target gets in a scenario. All scenarios of a group use one address. */
export const callOf = ({ call }: Target, { request, response }: Scenario): CallShape => ({
  ...call,
  request,
  response,
});

/** A checkout of the gateway that is measured. */
export interface Version {
  readonly name: string;
  /** Its root, with its `node_modules`. */
  readonly checkout: string;
}

/**
 * `PostgreSQL`: a separate server that all targets share. `local`: the gateway's own local server, or the in-process database of earlier
 * versions.
 */
export type DatabaseKind = 'PostgreSQL' | 'local';
export const DATABASE_KINDS: readonly DatabaseKind[] = ['PostgreSQL', 'local'];

/** An additional database with several partitions. */
export interface SpreadDatabase {
  readonly name: string;
  readonly partitions: number;
  /** A database for all scenarios; by default a new one on the bench's server. */
  readonly url: string | null;
}

/** The gateway's default limit of concurrent calls to a provider. */
const AT_A_TIME_BY_DEFAULT = 500;
const METER = benchFile('meter.ts');
/** Configured for scenarios that edit images only, so that versions without these names can be measured in others. */
const IMAGE_MODEL = `  bench-images:
    operations: [images.edit]
    price: { perImage: "0.1" }
    routes: [{ provider: static, model: bench-upstream }]`;

/** How a gateway of a checkout is started on a stage. An empty URL selects its own database. */
export function gatewayOrder(stage: Stage, checkout: string, databaseUrl: string): GatewayOrder {
  return {
    checkout,
    upstreamUrl: stage.providerUrl,
    databaseUrl,
    directory: join(stage.directory, stage.uniqueName()),
    spawn: spawnGateway,
    flags: stage.flags,
  };
}

export function chatCall(url: string, keys: readonly string[]): CallShape {
  return {
    url,
    path: '/v1/chat/completions',
    model: 'bench-model',
    request: 'chat',
    response: 'chat',
    keys,
    headers: {},
  };
}

/** The call for a forwarding proxy: the same operation at the provider's own path. */
export function passedOn({ request, response, kind, path }: Scenario, url: string): CallShape {
  const own = kind === 'coding' ? '/v1/chat/completions' : path;
  return { url, path: own, model: 'bench-model', request, response, keys: ['none'], headers: {} };
}

export async function startBare(stage: Stage, scenario: Scenario): Promise<Target> {
  const orders = await openOrderLine();
  const args = [...stage.flags, '--import', METER, benchFile('bare-proxy.ts'), stage.providerUrl];
  const child = spawnOnCore(args, TARGET_CORE, orders.environment);
  const { url } = await nextMessage<{ url: string }>(child);
  return {
    name: BARE,
    version: '',
    call: passedOn(scenario, url),
    read: async (order) => ({ ...(await orders.ask<MeterReading>(order)), database: null }),
    stop: () => endByClose(child, orders),
  };
}

export async function startGateway(
  stage: Stage,
  scenario: Scenario,
  database: DatabaseKind | SpreadDatabase,
  { name: version, checkout }: Version,
): Promise<Target> {
  const spread = typeof database === 'string' ? null : database;
  const order = gatewayOrder(
    stage,
    checkout,
    database === 'local' ? '' : (spread?.url ?? (await stage.createDatabase())),
  );
  const gateway = await startGatewayTarget({
    ...order,
    ...(spread !== null && { partitions: spread.partitions }),
    ...(scenario.kind === 'images' ? { models: IMAGE_MODEL } : {}),
    // Some calls are reserved for accounts with few calls.
    ...(scenario.unit !== 'calls a second' && scenario.size > AT_A_TIME_BY_DEFAULT
      ? { connections: scenario.size * 2 }
      : {}),
  });
  const server = database === 'local' ? await watchServer(dataDirOf(order.directory)) : null;
  // Like the shared server: the core of the targets is for gateways.
  if (server !== null) moveTree(server.pid, OTHER_CORES);
  const isOfStage = database !== 'local' && spread?.url == null;
  const { request, response, path, kind } = scenario;
  const model = kind === 'images' ? 'bench-images' : 'bench-model';
  const keys = kind === 'coding' ? gateway.codingKeys : gateway.balanceKeys;
  return {
    name: spread?.name ?? (database as DatabaseKind),
    version,
    call: { url: gateway.url, path, model, request, response, keys, headers: {} },
    async read(order) {
      const reading = await gateway.orders.ask<MeterReading>(order);
      return { ...reading, database: isOfStage ? await stage.readDatabase() : ((await server?.read()) ?? null) };
    },
    async stop() {
      await server?.close();
      await gateway.stop();
    },
  };
}
