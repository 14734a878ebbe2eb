import { resolve } from 'node:path';
import { readOptions } from '../scripts/read-options.ts';
import { PARTS } from './ablate.ts';
import { type CallLength, CHUNKS, COLUMNS, type CountedCalls, countCalls, SHAPES } from './call-lengths.ts';
import { REPOSITORY } from './revisions.ts';

/**
 * The length of a call's code path: source files, functions and function calls of the main thread, messages to the database, promises and
 * timers, for a single call in a warm gateway on PostgreSQL. `call-path.test.ts` has the limits; for bytes see `call-parts.ts`.
 *
 *   node bench/call-path.ts                            calls on a balance and on a Coding Plan, non-streaming and streams
 *   node bench/call-path.ts --files                    with each file
 *   node bench/call-path.ts --checkout ../before       of another version
 *   node bench/call-path.ts --ablation                 on a balance, without one part of the gateway after another
 */
const values = readOptions({ files: false, ablation: false, calls: 25, 'warm-up': 200, checkout: REPOSITORY });
const checkout = resolve(values.checkout);
const order = { checkout, warmUp: values['warm-up'], calls: values.calls };

console.log(`The least of ${values.calls} calls; a stream has ${CHUNKS} chunks. Own files: outside lib, db, http and protocols.

| call | ${Object.values(COLUMNS).join(' | ')} |
|---|${'--:|'.repeat(Object.keys(COLUMNS).length)}`);
if (values.ablation) await showAblation();
else {
  const counted = await countCalls(order);
  for (const { shape, length } of counted) showLength(shape.name, length);
  if (values.files) for (const each of counted) showFiles(each);
}

async function showAblation(): Promise<void> {
  for (const shape of SHAPES.filter(({ isCoding }) => !isCoding)) {
    const parts = Object.keys(PARTS).filter((part) => part !== 'response' || !shape.isStream);
    const ends = parts.filter((part) => part === 'admission' || part === 'settlement');
    for (const without of [[], ...parts.map((part) => [part]), ends, parts]) {
      const [counted] = await countCalls({ ...order, shapes: [shape], without });
      showLength(without.length === 0 ? shape.name : `without ${without.join(', ')}`, counted!.length);
    }
  }
}

function showLength(name: string, length: CallLength): void {
  const cells = (Object.keys(COLUMNS) as (keyof CallLength)[]).map((column) => length[column]);
  console.log(`| ${name} | ${cells.join(' | ')} |`);
}

function showFiles({ shape, parts }: CountedCalls): void {
  console.log(`\n| ${shape.name}: file | functions | calls |\n|---|--:|--:|`);
  const byFile = [...Map.groupBy(parts, ({ file }) => file)].map(([file, ofFile]) => ({
    name: new URL(file, 'file:').pathname.slice(checkout.length + 1),
    functions: ofFile.length,
    calls: ofFile.reduce((sum, { amount }) => sum + amount, 0),
  }));
  for (const { name, functions, calls } of byFile.toSorted((left, right) => right.calls - left.calls))
    console.log(`| ${name} | ${functions} | ${calls} |`);
}
