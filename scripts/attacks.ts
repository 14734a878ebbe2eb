import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createDatabase } from '../bench/create-database.ts';
import { ATTACKS, STAGES } from '../test/attacks/all.ts';
import type { Attack, Stage } from '../test/attacks/attack.ts';
import { moneyTable, type Outcome, problemsOf, remarks, waitsOf, waitsTable } from '../test/attacks/report.ts';
import { scriptMark } from '../test/attacks/scene/bill.ts';
import { type Account, type Gateway, startGateway } from '../test/attacks/scene/gateway.ts';
import type { InnocentCall } from '../test/attacks/scene/innocent-call.ts';
import type { InnocentOrder, Span } from '../test/attacks/scene/innocent-process.ts';
import { MemoryWatch, residentMiB } from '../test/attacks/scene/memory.ts';
import { monotonicMs } from '../test/attacks/scene/monotonic.ts';
import { createPerson } from '../test/attacks/scene/person.ts';
import { type Child, startChild } from '../test/attacks/scene/rpc.ts';
import { type AttackReport, Scene, type SceneOrder } from '../test/attacks/scene/scene.ts';
import { makeFastDirectory } from '../test/support/fast-directory.ts';
import { removeDirectory } from '../test/support/local-database.ts';
import { type PostgresServer, startPostgresServer } from '../test/support/postgres-server.ts';

/**
 * Attacks a gateway with the means of a stranger with a key, while an innocent caller uses it: `npm run test:attacks`, or
 * `npm run test:attacks -- <names>`. `--list` lists the attacks, `--postgres` runs the gateway with a separate PostgreSQL server, and
 * `--workers 2` sets the number of workers.
 * Exit code 1 if a call of the innocent caller failed, the gateway exited or used too much memory, or a caller paid less than it
 * should. Wait times are printed and never fail a run.
 */

/** How long the innocent caller runs alone before a stage. Its first calls run cold and are not counted. */
const COLD_MS = 2_000;
const ALONE_MS = 4_000;
/** Pause between attacks, in which pending work of the last one finishes. */
const PAUSE_MS = 300;
/**
 * Maximum growth of resident memory, unless an attack sets less: the budget of bodies, the memory of the threads that read them, and
 * a heap that grows with each attack and shrinks late. It fits into a container of 2 GB.
 */
const MEMORY_MIB_MAX = 896;

/** The bill of the innocent caller is checked like the outcome of an attack. */
function innocentAt(gateway: string): Attack {
  const callers = { caller: { balanceYuan: '10000' } };
  const name = `innocent-${gateway}`;
  return { name, sends: 'twenty calls a second', seconds: 0, callers, run: () => Promise.resolve() };
}

const { values: flags, positionals: names } = parseArgs({
  allowPositionals: true,
  options: { list: { type: 'boolean' }, postgres: { type: 'boolean' }, workers: { type: 'string', default: '1' } },
});
const workers = Number(flags.workers);
const isChosen = ({ name }: Attack): boolean => names.length === 0 || names.includes(name);
const unknown = names.filter((name) => !ATTACKS.some((attack) => attack.name === name));

if (unknown.length > 0) {
  console.error(`Unknown attack: ${unknown.join(', ')}. Known: ${ATTACKS.map(({ name }) => name).join(', ')}`);
  process.exitCode = 1;
} else if (flags.list === true) {
  for (const { name, sends } of ATTACKS) console.log(`${name.padEnd(22)}${sends}`);
} else {
  process.exitCode = await runAll();
}

/** The processes of a run that outlive its gateways. */
interface Run {
  readonly folder: string;
  readonly provider: Child;
  readonly providerUrl: string;
  readonly attacker: Child;
  readonly postgres: PostgresServer | null;
  readonly outcomes: Outcome[];
}

async function runAll(): Promise<number> {
  const startedAt = performance.now();
  const folder = makeFastDirectory('faregate-attacks-');
  process.on('exit', () => removeDirectory(folder));
  const provider = startChild('./provider-process.ts');
  const attacker = startChild('./attacker-process.ts');
  let postgres: PostgresServer | null = null;
  const outcomes: Outcome[] = [];
  try {
    if (flags.postgres === true) postgres = await startPostgresServer(folder);
    const providerUrl = await provider.ask<string>('url');
    const run: Run = { folder, provider, providerUrl, attacker, postgres, outcomes };
    await attacker.ask(
      'prepare',
      ATTACKS.filter(isChosen).map(({ name }) => name),
    );
    const stages = Object.entries(STAGES) as [Stage, (typeof STAGES)[Stage]][];
    await Promise.all(
      stages.map(async ([stage, rounds]) => {
        const chosen = rounds.map((round) => round.filter(isChosen)).filter((round) => round.length > 0);
        if (chosen.length > 0) await play(run, stage, chosen);
      }),
    );
  } finally {
    provider.stop();
    attacker.stop();
    await postgres?.stop();
  }
  const failed = outcomes.filter((outcome) => problemsOf(outcome).length > 0);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  console.log(`\n${waitsTable(outcomes)}\n\n${moneyTable(outcomes)}\n\n${remarks(outcomes)}\n`);
  console.log(`${outcomes.length - failed.length} passed, ${failed.length} failed, in ${seconds} s`);
  return failed.length === 0 ? 0 : 1;
}

/** A gateway with the accounts of its attacks and a running innocent caller. */
interface Stand {
  readonly gateway: Gateway;
  readonly innocent: Child;
  readonly innocentAs: Attack;
  readonly accounts: ReadonlyMap<string, SceneOrder['accounts']>;
  /** Wait times of the innocent caller and memory of the gateway before the first attack. */
  readonly before: Outcome['before'];
  readonly idleMiB: number;
}

async function play(run: Run, stage: Stage, rounds: readonly (readonly Attack[])[]): Promise<void> {
  let starts = 0;
  const begin = (attacks: readonly Attack[]): Promise<Stand> =>
    setUp(run, stage, `${stage.toLowerCase()}${++starts}`, attacks);
  let stand = await begin(rounds.flat());
  const background: Promise<Outcome>[] = [];
  for (const [index, round] of rounds.entries()) {
    // If the gateway exited, the remaining attacks run on a new one.
    if (stand.gateway.death() !== null) {
      await takeDown(run, stand);
      stand = await begin(rounds.slice(index).flat());
    }
    const begun = round.map((attack) => attackOnce(run, stand, attack));
    if (round.every(({ isBackground = false }) => isBackground)) {
      background.push(...begun);
      continue;
    }
    add(run, await Promise.all(begun));
    await wait(PAUSE_MS);
  }
  add(run, await Promise.all(background));
  await takeDown(run, stand);
}

function add({ outcomes }: Run, ended: readonly Outcome[]): void {
  for (const outcome of ended) {
    outcomes.push(outcome);
    console.log(`${problemsOf(outcome).length === 0 ? '✔' : '✖'} ${outcome.name}`);
  }
}

async function setUp(run: Run, stage: Stage, name: string, attacks: readonly Attack[]): Promise<Stand> {
  const { folder, providerUrl, postgres } = run;
  const databaseUrl = postgres === null ? '' : await createDatabase(postgres.url, name);
  const gateway = await startGateway(join(folder, name), { stage, providerUrl, databaseUrl }, workers);
  const accounts = new Map<string, SceneOrder['accounts']>();
  const innocentAs = innocentAt(name);
  for (const attack of [...attacks, innocentAs]) accounts.set(attack.name, await createAccounts(gateway, attack));
  const innocent = startChild('./innocent-process.ts');
  const [account] = accounts.get(innocentAs.name)!.caller!;
  const person = await createPerson(gateway.admin, gateway.url, `innocent-${name}`, account!.id);
  const order: InnocentOrder = {
    url: gateway.url,
    key: account!.key,
    mark: scriptMark('plain', `${innocentAs.name}.caller`),
    localAddress: '127.0.0.2',
    isNewcomer: stage === 'fewConnections',
    personHeaders: person.headers,
  };
  await innocent.ask('start', order);
  await wait(COLD_MS);
  const fromMs = monotonicMs();
  await wait(ALONE_MS);
  const alone = await innocent.ask<InnocentCall[]>('calls', { fromMs, toMs: monotonicMs() } satisfies Span);
  return { gateway, innocent, innocentAs, accounts, before: waitsOf(alone), idleMiB: residentMiB(gateway.pid) };
}

async function createAccounts(gateway: Gateway, { name, callers }: Attack): Promise<SceneOrder['accounts']> {
  const made = Object.entries(callers).map(async ([caller, terms]): Promise<[string, Account[]]> => {
    return [caller, await gateway.createAccounts(`${name} ${caller}`, terms)];
  });
  return Object.fromEntries(await Promise.all(made));
}

async function attackOnce({ providerUrl, attacker }: Run, stand: Stand, attack: Attack): Promise<Outcome> {
  const { gateway, innocent, accounts, before, idleMiB } = stand;
  const order: SceneOrder = {
    attack: attack.name,
    url: gateway.url,
    providerUrl,
    accounts: accounts.get(attack.name)!,
  };
  if (attack.setUp !== undefined) {
    await attacker.ask('setUp', order);
    await wait(PAUSE_MS);
  }
  const memory = new MemoryWatch(gateway.pid);
  const fromMs = monotonicMs();
  // Some attacks finish at once. The innocent caller is observed for their nominal duration.
  const [report] = await Promise.all([
    attacker.ask<AttackReport>('run', order),
    wait(attack.isBackground === true ? 0 : attack.seconds * 1_000),
  ]);
  const during = await innocent.ask<InnocentCall[]>('calls', { fromMs, toMs: monotonicMs() } satisfies Span);
  return {
    name: attack.name,
    report,
    before,
    during: waitsOf(during),
    memoryMiB: memory.stop() - idleMiB,
    memoryMiBMax: (attack.memoryMiB ?? MEMORY_MIB_MAX) * workers,
    death: gateway.death(),
  };
}

/** Compares the innocent caller's charges with the provider's bill, and stops the gateway. */
async function takeDown(run: Run, { gateway, innocent, innocentAs, accounts, before, idleMiB }: Stand): Promise<void> {
  const all = await innocent.ask<InnocentCall[]>('stop');
  const memoryMiB = residentMiB(gateway.pid) - idleMiB;
  if (gateway.death() === null) {
    const { name } = innocentAs;
    const order = { attack: name, url: gateway.url, accounts: accounts.get(name)! };
    const scene = new Scene(innocentAs, { ...order, providerUrl: run.providerUrl });
    const settled = await scene.settle('caller', 'the innocent caller');
    if (all.every(({ failure }) => failure === null)) scene.expectBill('the innocent caller', settled);
    const outcome = { report: scene.report(), before, during: waitsOf(all), death: gateway.death() };
    add(run, [{ name, ...outcome, memoryMiB, memoryMiBMax: MEMORY_MIB_MAX * workers }]);
  }
  innocent.stop();
  await gateway.stop();
}
