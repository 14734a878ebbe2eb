import { parseArgs } from 'node:util';
import pg from 'pg';
import { snakeCase } from '../src/lib/snake-case.ts';
import { parseNumber } from './options.ts';
import { REPOSITORY } from './revisions.ts';
import { type CallCosts, planScale, type ScaleOrder } from './scale-plan.ts';
import { parseScenarios } from './scenarios.ts';
import { type Stage, startStage } from './stage.ts';
import { startGateway, type Target } from './targets.ts';

/**
 * Capacity planning for very many calls: measures the cost of one call in the gateway and the database, and calculates machines,
 * partitions and connections from it. `docs/scale.md` explains the numbers.
 *
 *   node bench/scale.ts [--calls-per-second 50000] [--accounts 1000000] [--gateway-cores 8] [--database-cores 16] [--utilisation 0.6]
 *                       [--partitions-a-worker 4] [--calls-a-partition 2000] [--log-mb-a-worker 40] [--kept-days 30] [--average-of-peak 0.4] [--seconds 10]
 */
const USUAL: ScaleOrder & { readonly seconds: number } = {
  callsPerSecond: 50_000,
  accounts: 1_000_000,
  gatewayCores: 8,
  databaseCores: 16,
  utilisation: 0.6,
  partitionsAWorker: 4,
  callsAPartition: 2_000,
  logMbAWorker: 40,
  keptDays: 30,
  averageOfPeak: 0.4,
  seconds: 10,
};
const optionOf = (key: string): string => snakeCase(key).replaceAll('_', '-');
const { values } = parseArgs({
  options: Object.fromEntries(Object.keys(USUAL).map((key) => [optionOf(key), { type: 'string' as const }])),
});
const given = Object.entries(USUAL).map(([key, usual]) => {
  return [key, parseNumber(optionOf(key), values[optionOf(key)] as string | undefined, usual)];
});
const { seconds, ...order }: typeof USUAL = Object.fromEntries(given);
const PARTITIONS = 4;
const [scenario] = parseScenarios('chat-64');

const stage = await startStage(0, []);
try {
  const url = await stage.createDatabase();
  const spread = { name: `PostgreSQL, ${PARTITIONS} partitions`, partitions: PARTITIONS, url };
  const target = await startGateway(stage, scenario!, spread, { name: '', checkout: REPOSITORY });
  try {
    print(await measure(stage, target, url));
  } finally {
    await target.stop();
  }
} finally {
  await stage.stop();
}

async function measure(stage: Stage, target: Target, url: string): Promise<CallCosts> {
  const closed = { kind: 'closed', call: target.call, connections: scenario!.size, seconds } as const;
  // Warms up code and connections.
  await stage.load(closed);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const read = async () => {
    const { rows } = await client.query<{ log: string; stored: string }>(
      `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as log, pg_database_size(current_database()) as stored`,
    );
    const { cpuMicros } = await target.read({});
    return {
      gatewayMicros: cpuMicros,
      databaseMicros: (await stage.readDatabase()).cpuMicros,
      logBytes: Number(rows[0]!.log),
      storedBytes: Number(rows[0]!.stored),
    };
  };
  const before = await read();
  const { done, failures, firstFailure } = await stage.load(closed);
  const after = await read();
  await client.end();
  if (failures > 0) throw new Error(`${failures} calls failed; error of the first: ${firstFailure}`);
  const aCall = (key: keyof CallCosts): number => (after[key] - before[key]) / done;
  return {
    gatewayMicros: aCall('gatewayMicros'),
    databaseMicros: aCall('databaseMicros'),
    logBytes: aCall('logBytes'),
    storedBytes: aCall('storedBytes'),
  };
}

function print(costs: CallCosts): void {
  const plan = planScale(costs, order);
  const rows: readonly (readonly [what: string, value: number, digits: number])[] = [
    ['gateway CPU per call, µs', costs.gatewayMicros, 0],
    ['PostgreSQL CPU per call, µs', costs.databaseMicros, 0],
    ['PostgreSQL WAL per call, bytes', costs.logBytes, 0],
    ['stored per call, bytes', costs.storedBytes, 0],
    [`gateway nodes of ${order.gatewayCores} cores, including one spare`, plan.gatewayNodes, 0],
    ['gateway processes', plan.gatewayProcesses, 0],
    [`database workers of ${order.databaseCores} cores, in addition to the coordinator`, plan.databaseWorkers, 0],
    ['partitions', plan.partitions, 0],
    ['accounts per partition', plan.accountsAPartition, 0],
    ['calls per second and partition', plan.callsAPartition, 0],
    ['connections per process, at most', plan.connectionsAProcess, 0],
    ['connections per worker, at most', plan.connectionsAWorker, 0],
    ['connections of the coordinator to the directory, at most', plan.connectionsToDirectory, 0],
    ['WAL per worker, MB per second', plan.logMbAWorker, 1],
    [`records of ${order.keptDays} days per worker, TB`, plan.storedTbAWorker, 1],
  ];
  console.log(`| ${order.callsPerSecond} calls per second of ${order.accounts} accounts | |\n|---|---|`);
  for (const [what, value, digits] of rows) console.log(`| ${what} | ${value.toFixed(digits)} |`);
}
