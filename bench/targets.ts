import { join } from 'node:path';
import { endByClose, type GatewayOrder, startGatewayTarget } from './gateway-target.ts';
import type { CallShape } from './load/order.ts';
import type { MeterOrder, MeterReading } from './meter.ts';
import { openOrderLine } from './order-line.ts';
import { benchFile, nextMessage, spawnGateway, spawnOnCore, TARGET_CORE } from './processes.ts';
import { BARE } from './report.ts';
import type { Scenario } from './scenarios.ts';
import type { Stage } from './stage.ts';

/** A process under test that is ready for the calls of a scenario. */
export interface Target {
  readonly name: string;
  /** `before`, `after`, or empty. */
  readonly version: string;
  readonly call: CallShape;
  read(order: MeterOrder): Promise<MeterReading>;
  stop(): Promise<void>;
}

/** What a target is asked in a scenario of its group, which all have one address. */
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

export type Engine = 'PostgreSQL' | 'embedded';

/** A database of several partitions, beside those of one. */
export interface SpreadDatabase {
  readonly name: string;
  readonly partitions: number;
  /** A database to serve from, which is used for all scenarios; by default a new one of the bench's own server. */
  readonly url: string | null;
}
export const ENGINES: readonly Engine[] = ['PostgreSQL', 'embedded'];

/** A provider is sent so many calls at a time, and rather more, if nothing else is configured. */
const AT_A_TIME_BY_DEFAULT = 500;
const METER = benchFile('meter.ts');
/** Only told to a gateway that is to edit images, so that versions without these names can be measured by other calls. */
const IMAGE_MODEL = `  bench-images:
    operations: [images.edit]
    price: { perImage: "0.1" }
    routes: [{ provider: static, model: bench-upstream }]`;

/** How a gateway of a checkout is started beside the other targets of a stage; a database that is empty text is the embedded one. */
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

/** Non-stream chat. */
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

/** What a proxy that passes on is asked: the provider's own address of the same thing. */
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
    read: (order) => orders.ask(order),
    stop: () => endByClose(child, orders),
  };
}

export async function startGateway(
  stage: Stage,
  scenario: Scenario,
  engine: Engine | SpreadDatabase,
  { name: version, checkout }: Version,
): Promise<Target> {
  const spread = typeof engine === 'string' ? null : engine;
  const gateway = await startGatewayTarget({
    ...gatewayOrder(stage, checkout, engine === 'embedded' ? '' : (spread?.url ?? (await stage.createDatabase()))),
    ...(spread !== null && { partitions: spread.partitions }),
    ...(scenario.kind === 'images' ? { models: IMAGE_MODEL } : {}),
    // Some are kept for accounts that have few calls.
    ...(scenario.unit !== 'calls a second' && scenario.size > AT_A_TIME_BY_DEFAULT
      ? { connections: scenario.size * 2 }
      : {}),
  });
  const { request, response, path, kind } = scenario;
  const model = kind === 'images' ? 'bench-images' : 'bench-model';
  const keys = kind === 'coding' ? gateway.codingKeys : gateway.balanceKeys;
  return {
    name: spread?.name ?? (engine as Engine),
    version,
    call: { url: gateway.url, path, model, request, response, keys, headers: {} },
    async read(order) {
      const reading = await gateway.orders.ask<MeterReading>(order);
      return engine === 'embedded' || spread?.url != null
        ? reading
        : { ...reading, nextTransaction: await stage.nextTransaction() };
    },
    stop: gateway.stop,
  };
}
