import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from '../../src/lib/seeded-random.ts';
import { type OutageSpan, type PowerCutRun, runUnderLoad, type Survivors } from './power-cut-run.ts';

/**
 * Power cuts of a gateway's machine under load, while the database is down and the journal has the ends of calls. `POWER_CUTS` sets how
 * many (200 take some minutes: `--test-timeout`), `POWER_CUT_SEED` which; the diagnostics say what was found.
 */
const CUTS = Number(process.env.POWER_CUTS ?? 8);
const SEED = Number(process.env.POWER_CUT_SEED ?? 1);
const CUTS_OF_A_RUN = 20;

/** What remains of the writes that were not synced: nothing, a part, or everything. */
const KEPT: readonly ((randomSource: () => number) => number)[] = [() => 0, (randomSource) => randomSource(), () => 1];

describe('a power cut under load', { timeout: CUTS * 5_000 + 300_000 }, () => {
  test('loses no acknowledged charge and no admission of the journal, whatever it loses of what was not synced', async (context) => {
    const randomSource = seededRandom(SEED);
    const found: Record<keyof Survivors, number> = { successes: 0, admissions: 0, unresolved: 0 };
    let attempts = 0;
    for (let done = 0; done < CUTS; ) {
      const run = await runUnderLoad({ seed: SEED + done, rounds: CUTS > CUTS_OF_A_RUN ? 2 : 1 });
      attempts += run.attempts;
      try {
        for (let i = 0; i < CUTS_OF_A_RUN && done < CUTS; i++, done++) {
          const outage = run.outages[done % run.outages.length]!;
          const changes = momentIn(outage, randomSource);
          const survivors = await run.cut(outage, {
            changes,
            randomSource,
            kept: KEPT[done % KEPT.length]!(randomSource),
          });
          for (const [what, count] of Object.entries(survivors)) found[what as keyof Survivors] += count;
        }
        if (done === CUTS) await assertNoticed(run);
      } finally {
        await run.clear();
      }
    }
    context.diagnostic(`${CUTS} cuts in runs of ${attempts} attempts in all: ${JSON.stringify(found)}`);
    assert.ok(found.successes > 0 && found.admissions > 0);
  });
});

function momentIn({ from, to }: OutageSpan, randomSource: () => number): number {
  return from + Math.floor(randomSource() * (to - from + 1));
}

/** On a disk that syncs nothing, as without `fsync`, the same assertions fail. */
async function assertNoticed(run: PowerCutRun): Promise<void> {
  const lost: unknown[] = [];
  for (const outage of run.outages) {
    const options = { changes: outage.to, randomSource: () => 1, kept: 0, ignoresSyncs: true };
    await run.cut(outage, options).catch((error: unknown) => lost.push(error));
  }
  assert.match(String(lost[0]), /was acknowledged/);
}
