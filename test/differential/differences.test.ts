import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { isQuickRun, propertyRuns } from '../support/scope.ts';
import { compareForm, compareJson, compareNamed, type Outcome } from './differences.ts';
import { formCase } from './forms.ts';
import { jsonCase, tableCase } from './json-bodies.ts';
import { type BodyReader, startGoReader, startPythonReader } from './readers.ts';

/**
 * Uses a fixed seed, so that results are reproducible. `npm run fuzz` runs longer with other seeds; each case that it finds becomes a test
 * of the parser that was wrong.
 */
const SEED = 20_261_122;
const RUNS = propertyRuns(2000);

describe('parsers of the same body', () => {
  const readers: BodyReader[] = [];
  before(async () => {
    const python = await startPythonReader();
    // Go first compiles its library, which takes longer than all cases of a quick run.
    const go = isQuickRun && python !== null ? null : await startGoReader();
    for (const reader of [go, python]) if (reader !== null) readers.push(reader);
  });
  after(() => Promise.all(readers.map((reader) => reader.close())));

  /** A run in which nearly nothing or everything is relayed would not compare anything. */
  async function compare<Case>(
    cases: fc.Arbitrary<Case>,
    present: readonly BodyReader[],
    work: (given: Case) => Promise<Outcome>,
    skip: (reason: string) => void,
    report: (text: string) => void,
  ): Promise<void> {
    if (present.length === 0) {
      skip('no reader in Go or Python is installed');
      return;
    }
    let relayed = 0;
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        if ((await work(given)).isRelayed) relayed++;
      }),
      { seed: SEED, numRuns: RUNS },
    );
    report(`${RUNS} cases, ${relayed} relayed, read by ${present.map(({ version }) => version).join('; ')}`);
    assert.ok(relayed > RUNS / 20 && relayed < RUNS, `${relayed} of ${RUNS} were relayed`);
  }

  test('relayed JSON is read alike by all parsers', async (context) => {
    await compare(
      jsonCase,
      readers,
      (given) => compareJson(given, readers),
      (reason) => context.skip(reason),
      (text) => context.diagnostic(text),
    );
  });

  test('references to state in relayed JSON are found alike by all parsers', async (context) => {
    await compare(
      tableCase,
      readers,
      (given) => compareNamed(given, readers),
      (reason) => context.skip(reason),
      (text) => context.diagnostic(text),
    );
  });

  test('relayed forms are read alike by all parsers', async (context) => {
    const present = readers.filter(({ readsForms }) => readsForms);
    await compare(
      formCase,
      present,
      (given) => compareForm(given, present),
      (reason) => context.skip(reason),
      (text) => context.diagnostic(text),
    );
  });
});
