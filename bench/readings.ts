import { resolve } from 'node:path';
import { readOptions } from '../scripts/read-options.ts';
import { median } from './quantile.ts';
import { type Bodies, requestBodies, responseBodies, streamChunks } from './readings-bodies.ts';
import { REPOSITORY } from './revisions.ts';

/**
 * What the protocols take of the CPU for a call, without sockets and the database, beside another checkout: its request, its whole
 * response, a chunk of its stream. Both work in one process by turns, so that what else the machine does is the same for both. Prints
 * medians in microseconds, and what the second one is of the first.
 *
 *   node bench/readings.ts --before ../before              all
 *   node bench/readings.ts --before ../before --only chat  what has this in its name
 */
const values = readOptions({ before: REPOSITORY, rounds: 201, only: '' });

type Work = () => unknown;
const OUTPUT = { forward: ignore, forwardError: ignore, finish: ignore, finishError: ignore };
const ROUND_MICROS = 1_500;
const CHUNKS = 200;

function ignore(): void {}

/** The work of each name on one checkout. */
async function worksOf(checkout: string): Promise<Map<string, Work>> {
  const load = async (file: string) => await import(resolve(checkout, 'src', file));
  const { operations } = await load('protocols/operations/all.ts');
  const { StreamTap, createStreamTap } = await load('protocols/metering/tap.ts');
  const { JsonCapture } = await load('lib/json/json-capture.ts');
  const works = new Map<string, Work>();
  const named = (name: string) => operations.find((operation: { name: string }) => operation.name === name);
  const each = (kind: string, bodies: Bodies, workOf: (operation: string, body: Buffer) => Work) => {
    for (const [name, body] of Object.entries(bodies)) {
      const work = `${kind} ${name} (${body.length.toLocaleString('en')} B)`;
      if (work.includes(values.only)) works.set(work, workOf(name.split(' ')[0]!, body));
    }
  };
  const inputOf = (name: string, body: Buffer) => named(name).toInput(named(name).read(body), body);
  each('request', requestBodies(), (name, body) => () => inputOf(name, body));
  each('response', responseBodies(), (name, body) => {
    const { response } = inputOf(name, Buffer.from(`{"model":"m","input":"x","messages":[]}`));
    const { keep, keepSmall, keepMarked, count, holding } = response;
    return () => {
      const capture = new JsonCapture({ keep, keepSmall, keepMarked, count, holding, keptBytesMax: 2 ** 24 });
      capture.push(body);
      capture.end();
      return response.usage(capture, 'tokens');
    };
  });
  each(`${CHUNKS} chunks`, streamChunks(), (name, chunk) => {
    const input = inputOf(name, Buffer.from(`{"model":"m","input":"x","messages":[],"stream":true}`));
    return () => {
      const reading = input.readStream('tokens');
      // Versions before had a function.
      const tap = StreamTap === undefined ? createStreamTap(reading, OUTPUT) : new StreamTap(reading, OUTPUT);
      for (let i = 0; i < CHUNKS; i++) tap.push(chunk);
    };
  });
  return works;
}

function micros(work: Work, repeats: number): number {
  const begin = process.cpuUsage();
  for (let i = 0; i < repeats; i++) work();
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / repeats;
}

const before = await worksOf(resolve(values.before));
const now = await worksOf(REPOSITORY);
for (const [name, first] of before) {
  const second = now.get(name)!;
  for (const work of [first, second]) micros(work, 300);
  const repeats = Math.ceil(ROUND_MICROS / micros(first, 200));
  const times: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < values.rounds; round++) {
    const pair = round % 2 === 0 ? [first, second] : [second, first];
    const [a, b] = pair.map((work) => micros(work, repeats)) as [number, number];
    const [old, young] = round % 2 === 0 ? [a, b] : [b, a];
    for (const [i, value] of [old, young, young / old].entries()) times[i]!.push(value);
  }
  const [old, young, ratio] = times.map((each) => median(each)!) as [number, number, number];
  console.log(
    `${name.padEnd(44)} ${old.toFixed(2).padStart(9)} ${young.toFixed(2).padStart(9)} ${ratio.toFixed(3).padStart(7)}`,
  );
}
