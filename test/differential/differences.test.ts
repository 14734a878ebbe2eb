import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { isQuickRun, propertyRuns } from '../support/scope.ts';
import { compareForm, compareJson, compareNamed, type Outcome } from './differences.ts';
import { formCase } from './forms.ts';
import { jsonCase, tableCase } from './json-bodies.ts';
import { type BodyReader, startGoReader, startPythonReader } from './readers.ts';

/**
 * A fixed seed, so that a run says the same every time. `npm run fuzz` runs for as long as one wants, with others; where it
 * found something, its case is a test of the reader that was wrong.
 */
const SEED = 20_261_122;
const RUNS = propertyRuns(2000);

describe('readers of one body', () => {
  const readers: BodyReader[] = [];
  before(async () => {
    const python = await startPythonReader();
    // Go compiles its library first, which takes longer than all cases of a quick run.
    const go = isQuickRun && python !== null ? null : await startGoReader();
    for (const reader of [go, python]) if (reader !== null) readers.push(reader);
  });
  after(() => Promise.all(readers.map((reader) => reader.close())));

  /** A run in which next to nothing is relayed, or everything, would compare nothing. */
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

  test('JSON that is relayed is read alike by all', async (context) => {
    await compare(
      jsonCase,
      readers,
      (given) => compareJson(given, readers),
      (reason) => context.skip(reason),
      (text) => context.diagnostic(text),
    );
  });

  test('what JSON that is relayed names at a provider is found alike by all', async (context) => {
    await compare(
      tableCase,
      readers,
      (given) => compareNamed(given, readers),
      (reason) => context.skip(reason),
      (text) => context.diagnostic(text),
    );
  });

  test('forms that are relayed are read alike by all', async (context) => {
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
