import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { silentLogger } from '../../lib/logger.ts';
import type { CatalogText } from '../load.ts';
import type { Config } from '../schema.ts';
import { CatalogFollower } from './follower.ts';
import type { LatestRevisions, Revision } from './revisions-store.ts';

const POLL_MS = 1_000;
const RETRY_MS = 10_000;

describe('CatalogFollower', () => {
  let stored: { current: Revision | null; scheduled: Revision | null };
  let isDown: boolean;
  let isConnected: boolean;
  let unusable: Set<number>;
  let applied: [name: string, fromMs: number][];
  let announced: (number | null)[];
  let onChange: () => void;
  let follower: CatalogFollower;

  const revision = (number: number, inForceAtMs: number): Revision => ({
    number,
    text: `# ${number}`,
    source: 'push',
    base: number === 1 ? null : number - 1,
    reason: null,
    createdBy: 'lin',
    createdAtMs: 0,
    inForceAtMs,
    canceledAtMs: null,
    canceledBy: null,
  });
  const require = ({ name }: CatalogText): Config => {
    if (unusable.has(Number(name.split(' ')[1]))) throw new Error(`${name} needs a variable`);
    return {} as Config;
  };

  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 0 });
    [stored, isDown, isConnected, unusable, applied, announced] = [
      { current: revision(1, 0), scheduled: null },
      false,
      true,
      new Set(),
      [],
      [],
    ];
    follower = new CatalogFollower({
      store: {
        async latest(): Promise<LatestRevisions> {
          if (isDown) throw new Error('the database is down');
          return { ...stored, nowMs: Date.now() };
        },
      },
      async listen(notified) {
        onChange = notified;
        return {
          get isConnected() {
            return isConnected;
          },
          close: async () => undefined,
        };
      },
      parse: require,
      apply(catalog, fromMs) {
        require(catalog);
        applied.push([catalog.name, fromMs]);
      },
      schedule: (next) => announced.push(next?.fromMs ?? null),
      clock: { nowMs: () => Date.now() },
      logger: silentLogger,
      pollMs: POLL_MS,
    });
  });
  afterEach(async () => {
    await follower.close();
    mock.timers.reset();
  });

  /** Lets the reads that have begun end. */
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += POLL_MS) {
      mock.timers.tick(Math.min(POLL_MS, ms - passed));
      await settle();
      await settle();
    }
  }

  it('announces a scheduled revision, and applies it at its instant', async () => {
    await follower.start();
    stored.scheduled = revision(2, 5_000);
    onChange();
    await settle();
    assert.deepEqual([applied, announced.at(-1)], [[['revision 1', 0]], 5_000]);
    assert.equal(follower.status.scheduled, 2);
    await pass(4_000);
    stored = { current: revision(2, 5_000), scheduled: null };
    await pass(1_000);
    assert.deepEqual([applied.at(-1), announced.at(-1)], [['revision 2', 5_000], null]);
    assert.deepEqual(follower.status, { inForce: 2, scheduled: null, failed: null });
  });

  it('applies a known revision at its instant while the database is down', async () => {
    stored.scheduled = revision(2, 5_000);
    await follower.start();
    isDown = true;
    await pass(6_000);
    assert.deepEqual(applied.at(-1), ['revision 2', 5_000]);
    isDown = false;
    stored = { current: revision(3, 5_500), scheduled: null };
    await pass(POLL_MS);
    assert.deepEqual(applied.at(-1), ['revision 3', 5_500]);
  });

  it('does not apply a revision that is canceled', async () => {
    stored.scheduled = revision(2, 5_000);
    await follower.start();
    stored.scheduled = null;
    onChange();
    await pass(6_000);
    assert.deepEqual([applied.length, announced.at(-1)], [1, null]);
  });

  it('reads the database every second while it receives no notifications', async () => {
    await follower.start();
    isConnected = false;
    stored.current = revision(2, 0);
    await pass(POLL_MS);
    assert.equal(follower.status.inForce, 2);
  });

  it('keeps the earlier revision if it cannot use one, and tries again', async () => {
    unusable.add(2);
    await follower.start();
    stored.current = revision(2, 0);
    onChange();
    await settle();
    assert.deepEqual([follower.status.inForce, follower.status.failed?.number], [1, 2]);
    assert.match(follower.status.failed!.message, /revision 2 needs a variable/);
    unusable.clear();
    await pass(RETRY_MS);
    assert.deepEqual([follower.status.inForce, follower.status.failed], [2, null]);
  });

  it('does not start if the revision in force cannot be used', async () => {
    unusable.add(1);
    await assert.rejects(follower.start(), /revision 1 needs a variable/);
  });
});
