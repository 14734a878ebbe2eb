import { quantile } from '../calls.ts';
import { createCitusDatabase, rowsOf } from '../databases.ts';
import { type Had, startGateways } from '../gateways.ts';
import type { Step } from '../step.ts';

const PARTITIONS = 4;
const PHASE_MS = 8_000;
const BACK_MS = 4_000;

export const gateways: Step = {
  name: 'gateways',
  tries:
    'two gateways under load: a worker is killed and restarted, a partition moves; each delivered call is charged once, and the audit finds nothing',
  async run({ ports, workers }) {
    await using stored = await createCitusDatabase(ports);
    await using two = await startGateways(ports, stored, PARTITIONS);
    const placed = await rowsOf<{ schema: string; port: number }>(
      ports.coordinator,
      stored.name,
      `select distinct n.nspname::text as schema, s.nodeport as port from citus_shards s
join pg_class c on c.oid = s.table_name join pg_namespace n on n.oid = c.relnamespace where n.nspname like 'faregate%'`,
    );
    const [{ port } = { port: 0 }] = placed;
    const lost = new Set(placed.filter((each) => each.port === port).map(({ schema }) => two.schemas.indexOf(schema)));
    const worker = workers.find((server) => server.port === port)!;
    const phase = async (work: () => Promise<unknown>): Promise<readonly Had[]> => {
      const from = two.calls.length;
      await work();
      return two.calls.slice(from);
    };
    await two.pass(BACK_MS);
    const alone = await phase(() => two.pass(PHASE_MS));
    await worker.kill();
    const without = await phase(() => two.pass(PHASE_MS));
    await worker.start();
    await two.pass(BACK_MS);
    const again = await phase(() => two.pass(PHASE_MS));
    const to = ports.workers.find((other) => other !== port)!;
    const moving = await phase(() =>
      rowsOf(
        ports.coordinator,
        stored.name,
        `select citus_schema_move('${two.schemas[[...lost][0]!]}', '127.0.0.1', ${to}, 'auto')`,
      ),
    );
    await two.pass(BACK_MS);
    await two.settle();
    const ofOthers = (calls: readonly Had[]): readonly Had[] => calls.filter(({ partition }) => !lost.has(partition));
    const ofLost = (calls: readonly Had[]): readonly Had[] => calls.filter(({ partition }) => lost.has(partition));
    return [
      `healthy: ${latenciesOf(alone)}`,
      `a worker is lost, partitions of others: ${latenciesOf(ofOthers(without))}; before: ${latenciesOf(ofOthers(alone))}`,
      `a worker is lost, its own partitions: ${latenciesOf(ofLost(without))}`,
      `restored: ${latenciesOf(again)}`,
      `a partition moves: ${latenciesOf(moving)}`,
      `${two.calls.length} calls in all: each delivered one is charged once, no other is charged, and the audit finds nothing`,
    ];
  },
};

function latenciesOf(calls: readonly Had[]): string {
  const waits = calls.map(({ ms }) => ms);
  const failed = Object.entries(Object.groupBy(calls, ({ status }) => status))
    .filter(([status]) => status !== '200')
    .map(([status, some]) => `, ${some!.length} × ${status}`);
  return `${calls.length} calls${failed.join('')}, p50 ${quantile(waits, 0.5)}, p99 ${quantile(waits, 0.99)}, the longest ${quantile(waits, 1)}`;
}
