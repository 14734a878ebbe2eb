import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { gateRatios, type Recorded, renderGate } from './gate.ts';
import { describeMachine, machineLine } from './machine.ts';
import { type Options, parseOptions } from './options.ts';
import { withFigures } from './page.ts';
import { givenPeer } from './peers/given.ts';
import type { PeerKind } from './peers/peer.ts';
import { findPeers, PEER_NAMES } from './peers/peers.ts';
import { benchFile } from './processes.ts';
import { type LineResult, renderMarkdown, renderText, type ScenarioResult, summarise } from './report.ts';
import { runScenario } from './run.ts';
import { startStage } from './stage.ts';
import { ENGINES, type Version } from './targets.ts';

/**
 * How fast the gateway is beside a bare proxy, and beside others, in one run: `docs/performance.md` says what is measured and how.
 * Progress goes to standard error, the report to standard output.
 *
 *   npm run bench                                   the default scenarios, some minutes
 *   npm run bench -- --scenario chat-64,streams     those; `all` for all
 *   npm run bench -- --peers all                    beside nginx, Portkey and LiteLLM, which it fetches; `none` for none
 *   npm run bench -- --peer NAME=URL,HEADER,MODEL,PID --provider-port 9100
 *                                                   beside a gateway that runs, with http://127.0.0.1:9100/v1 behind it
 *   npm run bench -- --before DIRECTORY             beside another checkout, which has its node_modules
 *   npm run bench -- --rounds 5 --seconds 5 --warm-up 5
 *   npm run --silent bench -- --json                all rounds and medians as data
 *   npm run bench -- --record                       also writes the tables into docs/performance.md
 *   npm run bench -- --gate                         a minute: ratios to the bare proxy, and to the last recorded ones
 *   npm run bench -- --gate --record                also records them in bench/recorded.json
 *   npm run bench -- --profile DIRECTORY            also writes CPU profiles there, which slows all down
 */
const RECORDED_FILE = benchFile('recorded.json');
const PAGE_FILE = benchFile('../docs/performance.md');
const CHECKOUT = benchFile('..');

const options = readOptions();
const machine = describeMachine();
const tell = (line: string): void => console.error(line);
const results = await measureAll(options);
if (options.isGate) reportGate();
else report();
if (!options.isGate && results.some(({ lines }) => lines.some(isFailedGateway))) process.exitCode = 1;

/** What a peer cannot do is no fault of this version. */
function isFailedGateway({ name, failures }: LineResult): boolean {
  return failures > 0 && ENGINES.some((engine) => engine === name);
}

function readOptions(): Options {
  try {
    return parseOptions(process.argv.slice(2), PEER_NAMES);
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}

async function measureAll({ scenarios, before, providerPort, profile, duration }: Options): Promise<ScenarioResult[]> {
  tell(machineLine(machine));
  const peers = [...startable(), ...options.givenPeers.map(givenPeer)];
  const flags = profile === null ? [] : ['--cpu-prof', '--cpu-prof-dir', resolve(profile)];
  const stage = await startStage(providerPort, flags);
  const measured: ScenarioResult[] = [];
  try {
    for (const scenario of scenarios) {
      measured.push(await runScenario(stage, scenario, { versions: versionsOf(before), peers }, duration, tell));
    }
  } finally {
    await stage.stop();
  }
  return measured;
}

function versionsOf(before: string | null): Version[] {
  if (before === null) return [{ name: '', checkout: CHECKOUT }];
  return [
    { name: 'before', checkout: resolve(before) },
    { name: 'after', checkout: CHECKOUT },
  ];
}

function startable(): PeerKind[] {
  return findPeers(options.peers).flatMap((peer) => {
    if (!('missing' in peer)) return [peer];
    tell(`${peer.name} is not measured: ${peer.missing}.`);
    return [];
  });
}

function report(): void {
  const { rounds, seconds } = options.duration;
  const how = `${rounds} rounds of ${seconds} s in turns, medians`;
  if (options.isJson) {
    const scenarios = results.map((result) => ({ ...result, summary: summarise(result) }));
    console.log(JSON.stringify({ ...machine, duration: options.duration, scenarios }, null, 2));
  } else console.log(`\n${how}\n\n${results.map(renderText).join('\n\n')}`);
  if (!options.isRecorded) return;
  const figures = [`Measured ${today()}: ${machineLine(machine)}; ${how}.`, ...results.map(renderMarkdown)].join(
    '\n\n',
  );
  writeFileSync(PAGE_FILE, withFigures(readFileSync(PAGE_FILE, 'utf8'), figures));
  tell(`The tables are in ${PAGE_FILE}.`);
}

function reportGate(): void {
  const ratios = gateRatios(results);
  const recorded = existsSync(RECORDED_FILE) ? (JSON.parse(readFileSync(RECORDED_FILE, 'utf8')) as Recorded) : null;
  console.log(
    options.isJson ? JSON.stringify({ ...machine, ratios, recorded }, null, 2) : renderGate(ratios, recorded),
  );
  if (!options.isRecorded) return;
  const { load: _, ...rest } = machine;
  writeFileSync(RECORDED_FILE, `${JSON.stringify({ recordedAt: today(), ...rest, ratios }, null, 2)}\n`);
  tell(`Recorded in ${RECORDED_FILE}.`);
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}
