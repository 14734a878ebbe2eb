import fc from 'fast-check';
import { compareForm, compareJson, compareNamed, type Outcome } from '../test/differential/differences.ts';
import { formCase } from '../test/differential/forms.ts';
import { jsonCase, tableCase } from '../test/differential/json-bodies.ts';
import { type BodyReader, startGoReader, startPythonReader } from '../test/differential/readers.ts';
import { readOptions } from './read-options.ts';

/**
 * `npm run fuzz -- --minutes 60 [--seed N]`: parses ambiguous bodies and forms with the gateway's parsers and with server parsers in other
 * languages. Stops at the first difference.
 */

const { minutes, seed } = readOptions({ minutes: 1, seed: Date.now() % 2 ** 31 });
if (!(minutes > 0) || !Number.isInteger(seed)) throw new RangeError('--minutes and --seed are numbers');

const BATCH_RUNS = 2000;
const PROGRESS_MS = 60_000;

/** The outcomes of one kind of case. */
class Tally {
  readonly name: string;
  #cases = 0;
  #relayed = 0;
  #refusals = 0;

  constructor(name: string) {
    this.name = name;
  }

  add({ isRelayed, refusals }: Outcome): void {
    this.#cases++;
    if (isRelayed) this.#relayed++;
    this.#refusals += refusals;
  }

  toString(): string {
    const refused = this.#cases - this.#relayed;
    const count = (value: number) => value.toLocaleString('en');
    return `${this.name}: ${count(this.#cases)} cases, ${count(this.#relayed)} relayed, ${count(refused)} refused; \
other readers rejected ${count(this.#refusals)} of the relayed ones`;
  }
}

async function runBatch<Case>(
  cases: fc.Arbitrary<Case>,
  work: (given: Case) => Promise<Outcome>,
  tally: Tally,
  batchSeed: number,
): Promise<boolean> {
  const property = fc.asyncProperty(cases, async (given) => tally.add(await work(given)));
  const details = await fc.check(property, { seed: batchSeed, numRuns: BATCH_RUNS });
  if (!details.failed) return true;
  const difference = details.errorInstance instanceof Error ? details.errorInstance.message : 'a difference';
  process.stdout.write(`${tally.name}: ${difference}\n${fc.defaultReportMessage(details)}\n`);
  return false;
}

async function main(): Promise<boolean> {
  const started = [await startGoReader(), await startPythonReader()];
  const readers: readonly BodyReader[] = started.filter((reader) => reader !== null);
  if (readers.length === 0) throw new Error('neither Go nor Python is installed');
  const start = Date.now();
  const end = start + minutes * 60_000;
  const json = new Tally('JSON');
  const named = new Tally('JSON by the tables');
  const forms = new Tally('forms');
  let isAlike = true;
  let shownMs = start;
  for (let batch = 0; isAlike && Date.now() < end; batch++) {
    const batchSeed = (seed + batch) | 0;
    isAlike = await runBatch(jsonCase, (given) => compareJson(given, readers), json, batchSeed);
    isAlike &&= await runBatch(tableCase, (given) => compareNamed(given, readers), named, batchSeed);
    isAlike &&= await runBatch(formCase, (given) => compareForm(given, readers), forms, batchSeed);
    if (Date.now() - shownMs < PROGRESS_MS) continue;
    shownMs = Date.now();
    process.stderr.write(`${Math.round((shownMs - start) / 1_000)} s\n${json}\n${named}\n${forms}\n`);
  }
  const versions = [`Node ${process.versions.node}`, ...readers.map(({ version }) => version)].join('; ');
  const lasted = ((Date.now() - start) / 60_000).toFixed(1);
  process.stdout.write(`${json}\n${named}\n${forms}\nseed ${seed}, ${lasted} min; ${versions}\n`);
  process.stdout.write(isAlike ? 'no difference\n' : '');
  await Promise.all(readers.map((reader) => reader.close()));
  return isAlike;
}

process.exitCode = (await main()) ? 0 : 1;
