import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from '../../src/lib/seeded-random.ts';
import { type PowerCutRun, runUnderLoad, type Span, type Survivors } from './power-cut-run.ts';

/**
 * Power cuts of a machine with an embedded database under load. `POWER_CUTS` says how many (200 take some minutes:
 * `--test-timeout`), `POWER_CUT_SEED` which; what was found is in the diagnostics.
 */
const CUTS = Number(process.env.POWER_CUTS ?? 8);
const SEED = Number(process.env.POWER_CUT_SEED ?? 1);
const CUTS_OF_A_RUN = 20;

/** Of what was not synced everything is lost, something survives, or everything. */
const KEPT: readonly ((randomSource: () => number) => number)[] = [() => 0, (randomSource) => randomSource(), () => 1];

describe('a power cut under load', { timeout: CUTS * 5_000 + 300_000 }, () => {
  test('takes no acknowledged charge and no admission from the embedded database and the journal, whatever it takes of what was not synced', async (context) => {
    const randomSource = seededRandom(SEED);
    const found: Record<keyof Survivors, number> = { successes: 0, admissions: 0, unresolved: 0 };
    let attempts = 0;
    for (let done = 0; done < CUTS; ) {
      const run = await runUnderLoad({ seed: SEED + done, rounds: CUTS > CUTS_OF_A_RUN ? 2 : 1 });
      attempts += run.attempts;
      try {
        for (let i = 0; i < CUTS_OF_A_RUN && done < CUTS; i++, done++) {
          const changes = momentIn(spanOf(run, done), randomSource);
          const survivors = await run.cut({ changes, randomSource, kept: KEPT[done % KEPT.length]!(randomSource) });
          for (const [what, count] of Object.entries(survivors)) found[what as keyof Survivors] += count;
        }
        if (done === CUTS) await assertNoticed(run);
      } finally {
        run.clear();
      }
    }
    context.diagnostic(`${CUTS} cuts in runs of ${attempts} attempts in all: ${JSON.stringify(found)}`);
    assert.ok(found.successes > 0 && found.admissions > 0);
  });
});

/** Every other cut is in a time without the database, which is short. */
function spanOf({ whole, outages }: PowerCutRun, cut: number): Span {
  return cut % 2 === 1 ? whole : outages[(cut / 2) % outages.length]!;
}

function momentIn({ from, to }: Span, randomSource: () => number): number {
  return from + Math.floor(randomSource() * (to - from + 1));
}

/** On a disk that syncs nothing, as without `fsync`, the same assertions fail. */
async function assertNoticed(run: PowerCutRun): Promise<void> {
  const lost = run.cut({ changes: run.whole.to, randomSource: () => 1, kept: 0, ignoresSyncs: true });
  await assert.rejects(lost, /was acknowledged, and there is no record of it/);
}
