import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Finding } from '../../../src/cli/doctor/doctor-finding.ts';
import { OPERATIONS } from '../../db/over-both-operations.ts';
import { openScene, type Scene } from '../../db/over-both-scene.ts';
import { runCommand } from '../../support/command.ts';
import { sql } from '../../support/sql.ts';
import { until } from '../../support/until.ts';
import type { ClusterPorts } from '../databases.ts';
import { rowsOf } from '../databases.ts';
import type { LocalServer } from '../server.ts';
import type { Step } from '../step.ts';
import { type Held, type Killed, TwoPhase } from '../two-phase.ts';

const KILLS_FILE = 'test/db/over-both-kills.test.ts';
const HELD: readonly Held[] = ['worker', 'coordinator'];
const KILLED: readonly Killed[] = ['backend', 'worker', 'server'];

export const overBoth: Step = {
  name: 'over-both',
  tries:
    'transactions over the directory and a partition: backend, gateway and coordinator are killed at each statement, and these or a worker between the two phases of a commit',
  async run({ ports, workers }) {
    const atStatements = await killAtStatements(ports);
    await using scene = await openScene(ports);
    const { url } = scene.g.stored;
    const database = new URL(url).pathname.slice(1);
    const doctor = await checkDoctor(ports, database, url);
    const twoPhase = new TwoPhase(scene, workers, database);
    const lines: string[] = [];
    const operations = OPERATIONS.filter(({ changed }) => changed === undefined);
    for (const operation of operations)
      for (const held of HELD) for (const killed of KILLED) await twoPhase.kill(operation, held, killed);
    const others = await createOthers(scene, ports, database);
    const recoveredMs = await twoPhase.kill(operations[0]!, 'coordinator', 'worker', async (lost) => {
      lines.push(await othersGoOn(scene, others, lost));
    });
    lines.push(`when it is back, what it had prepared is committed within ${recoveredMs.toFixed(0)} ms`);
    return [
      ...atStatements,
      `between the phases: ${operations.map(({ name }) => name).join(', ')}`,
      ...lines,
      ...doctor,
    ];
  },
};

/** `scripts/test.ts` also starts the database for tests without Citus. */
async function killAtStatements(ports: ClusterPorts): Promise<string[]> {
  const child = spawn(process.execPath, ['scripts/test.ts', KILLS_FILE], {
    env: { ...process.env, FAREGATE_TEST_CITUS_PORTS: JSON.stringify(ports) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(printed.slice(Math.max(0, printed.indexOf('failing tests'))).slice(0, 4_000));
  return printed.match(/^ {2}[✔﹣ℹ].*$/gm)?.map((line) => line.trim()) ?? [];
}

/** Recommends a setting if the server recovers rarely; otherwise prints nothing. */
async function checkDoctor(ports: ClusterPorts, database: string, url: string): Promise<string[]> {
  const examine = async (): Promise<Finding | undefined> => {
    const { stdout } = await runCommand(['doctor', '--json'], { DATABASE_URL: url, PORT: '0' });
    return (JSON.parse(stdout) as Finding[]).find(({ check }) => check === 'recovery');
  };
  const before = await examine();
  assert.equal(before?.state, 'warning');
  for (const statement of before.advice!.match(/(?:alter|select) [^;]+;/g)!)
    await rowsOf(ports.coordinator, database, statement);
  await until(async () => (await examine())?.state === 'ok', 'what doctor says is not what it wants');
  return [`doctor: ${before.detail}; ${before.advice}`];
}

interface Other {
  readonly keyId: string;
  /** The server that has the account's partition. */
  readonly port: number;
}

/** An account with a key in each partition. */
async function createOthers(scene: Scene, ports: ClusterPorts, database: string): Promise<Other[]> {
  const made: Other[] = [];
  for (const number of scene.watched.partitions.keys()) {
    const { status, body } = await scene.g.admin('POST', '/accounts', {
      name: `other ${number}`,
      verified: true,
      balanceYuan: '1',
    });
    assert.equal(status, 201);
    const [row] = await sql<{ place: number }>(
      scene.others.directory,
      'select partition_no as place from accounts where id = $1',
      [body.id],
    );
    const schema = `faregate_0${row!.place}`;
    const [placed] = await rowsOf<{ port: number }>(
      ports.coordinator,
      database,
      `select distinct nodeport as port from citus_shards where table_name = to_regclass('${schema}.balances')`,
    );
    const key = await scene.g.admin('POST', `/accounts/${body.id}/keys`, { name: 'other', dailyCalls: 3 });
    assert.equal(key.status, 201);
    made.push({ keyId: key.body.id, port: placed?.port ?? ports.coordinator });
  }
  return made;
}

/** While a worker is down: changes limits of keys of other accounts. */
async function othersGoOn(scene: Scene, others: readonly Other[], lost: LocalServer): Promise<string> {
  const elsewhere = others.filter(({ port }) => port !== lost.port);
  assert.ok(elsewhere.length > 0);
  const startedAt = performance.now();
  for (const { keyId } of elsewhere) {
    const { status } = await scene.g.admin('PATCH', `/keys/${keyId}`, { dailyCalls: 5 });
    assert.equal(status, 200);
  }
  const ms = (performance.now() - startedAt) / elsewhere.length;
  return `a worker is down between the phases: ${elsewhere.length} keys of accounts on other servers are changed, in ${ms.toFixed(0)} ms each`;
}
