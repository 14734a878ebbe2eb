import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describeFailures, hasFailed } from './failures.ts';
import { gateRatios, type Recorded, renderGate } from './gate.ts';
import { describeMachine, machineLine } from './machine.ts';
import { type Options, orExit, parseOptions } from './options.ts';
import { withFigures } from './page.ts';
import { givenPeer } from './peers/given.ts';
import type { PeerKind } from './peers/peer.ts';
import { findPeers, PEER_NAMES } from './peers/peers.ts';
import { benchFile } from './processes.ts';
import { renderMarkdown, renderText, type ScenarioResult, summarise } from './report.ts';
import { REPOSITORY } from './revisions.ts';
import { runScenarios } from './run.ts';
import { startStage } from './stage.ts';
import type { Version } from './targets.ts';

/**
 * How fast the gateway is compared with a bare proxy and with other gateways, in one run. `docs/performance.md` describes the method.
 * Progress goes to standard error, the report to standard output.
 *
 *   npm run bench                                   the default scenarios, some minutes
 *   npm run bench -- --scenario chat-64,streams     these scenarios; `all` for all
 *   npm run bench -- --peers all                    also the floor (`floor.ts`), nginx, Portkey and LiteLLM, which it downloads; `none` for none
 *   npm run bench -- --partitions 4 --citus URL      also a database of four partitions, and one on a Citus cluster
 *   npm run bench -- --peer NAME=URL,HEADER,MODEL,PID --provider-port 9100
 *                                                   also a running gateway that forwards to http://127.0.0.1:9100/v1
 *   npm run bench -- --before DIRECTORY             also another checkout, which has its node_modules
 *   npm run bench -- --rounds 5 --seconds 5 --warm-up 5
 *                                                   longer; the warm-up is in seconds of the target's CPU
 *   npm run --silent bench -- --json                all rounds and medians as data
 *   npm run bench -- --record                       also writes the tables into docs/performance.md
 *   npm run bench -- --gate                         about a minute: compares with the bare proxy, and with the last recorded run
 *   npm run bench -- --gate --record                also records the figures in bench/recorded.json
 *   npm run bench -- --profile DIRECTORY            also writes CPU profiles there, which slows all down
 *
 * Failed calls are reported at the end in every mode. If the gateway or the bare proxy has any, nothing is recorded and the exit code is
 * 1.
 */
const RECORDED_FILE = benchFile('recorded.json');
const PAGE_FILE = benchFile('../docs/performance.md');

const options = orExit(() => parseOptions(process.argv.slice(2), PEER_NAMES));
const machine = describeMachine();
const tell = (line: string): void => console.error(line);
const results = await measureAll(options);
if (options.isGate) reportGate();
else report();
for (const line of describeFailures(results)) tell(line);
if (hasFailed(results)) {
  if (options.isRecorded) tell('Nothing was recorded, because calls failed.');
  process.exitCode = 1;
} else if (options.isRecorded) record();

async function measureAll({ groups, before, providerPort, profile, duration }: Options): Promise<ScenarioResult[]> {
  tell(machineLine(machine));
  const peers = [...startable(), ...options.givenPeers.map(givenPeer)];
  const flags = profile === null ? [] : ['--cpu-prof', '--cpu-prof-dir', resolve(profile)];
  const stage = await startStage(providerPort, flags);
  const measured: ScenarioResult[] = [];
  try {
    for (const group of groups) {
      measured.push(
        ...(await runScenarios(
          stage,
          group,
          { versions: versionsOf(before), peers, spread: options.spread },
          duration,
          tell,
        )),
      );
    }
  } finally {
    await stage.stop();
  }
  return measured;
}

function versionsOf(before: string | null): Version[] {
  if (before === null) return [{ name: '', checkout: REPOSITORY }];
  return [
    { name: 'before', checkout: resolve(before) },
    { name: 'after', checkout: REPOSITORY },
  ];
}

function startable(): PeerKind[] {
  return findPeers(options.peers).flatMap((peer) => {
    if (!('missing' in peer)) return [peer];
    tell(`${peer.name} is not measured: ${peer.missing}.`);
    return [];
  });
}

function howLong(): string {
  const { rounds, seconds } = options.duration;
  return `medians of ${rounds} alternating rounds of ${seconds} s`;
}

function report(): void {
  if (!options.isJson) {
    console.log(`\n${howLong()}\n\n${results.map(renderText).join('\n\n')}`);
    return;
  }
  const scenarios = results.map((result) => ({ ...result, summary: summarise(result) }));
  console.log(JSON.stringify({ ...machine, duration: options.duration, scenarios }, null, 2));
}

function reportGate(): void {
  const ratios = gateRatios(results);
  const recorded = existsSync(RECORDED_FILE) ? (JSON.parse(readFileSync(RECORDED_FILE, 'utf8')) as Recorded) : null;
  console.log(
    options.isJson ? JSON.stringify({ ...machine, ratios, recorded }, null, 2) : renderGate(ratios, recorded),
  );
}

function record(): void {
  if (options.isGate) {
    const { load: _, ...rest } = machine;
    const recorded = { recordedAt: today(), ...rest, ratios: gateRatios(results) };
    writeFileSync(RECORDED_FILE, `${JSON.stringify(recorded, null, 2)}\n`);
    tell(`Recorded in ${RECORDED_FILE}.`);
    return;
  }
  const head = `Measured ${today()}: ${machineLine(machine)}; ${howLong()}.`;
  const figures = [head, ...results.map(renderMarkdown)].join('\n\n');
  writeFileSync(PAGE_FILE, withFigures(readFileSync(PAGE_FILE, 'utf8'), figures));
  tell(`The tables are in ${PAGE_FILE}.`);
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}
