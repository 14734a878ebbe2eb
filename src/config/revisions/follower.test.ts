import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Config } from '../schema.ts';
import { CatalogFollower } from './follower.ts';
import type { LatestRevisions } from './revisions-store.ts';
import type { DatedRevision } from './tables.ts';

const revision = (number: number, inForceAtMs: number): DatedRevision => ({
  number,
  text: `text ${number}`,
  source: 'push',
  base: number === 1 ? null : number - 1,
  reason: null,
  createdBy: 'alice',
  createdAtMs: 0,
  inForceAtMs,
  canceledAtMs: null,
  canceledBy: null,
  appliedBy: null,
});

describe('the catalog of a node', () => {
  /** The database, with its clock. */
  let database: { revisions: DatedRevision[]; secrets: string; nowMs: number; isDown: boolean };
  /** The secrets that the node has read. */
  let secrets: string;
  let unusable: Set<string>;
  let applied: string[];
  let scheduled: (number | null)[];
  let announced: number[][];
  let errors: string[];
  let notify: () => void;
  let follower: CatalogFollower;

  beforeEach(() => {
    database = { revisions: [revision(1, 0)], secrets: '', nowMs: 1_000, isDown: false };
    secrets = '';
    [unusable, applied, scheduled, announced, errors] = [new Set(), [], [], [], []];
    const parse = ({ text }: { readonly text: string }): Config => {
      if (unusable.has(text)) throw new Error(`${text} is unusable`);
      return { text } as unknown as Config;
    };
    follower = new CatalogFollower({
      store: {
        async latest(): Promise<LatestRevisions> {
          if (database.isDown) throw new Error('the database is down');
          const { revisions, nowMs } = database;
          const current = revisions.findLast(({ inForceAtMs }) => inForceAtMs <= nowMs) ?? null;
          return { nowMs, current, scheduled: revisions.filter(({ inForceAtMs }) => inForceAtMs > nowMs) };
        },
      },
      secrets: {
        areOpen: true,
        async read() {
          const haveChanged = secrets !== database.secrets;
          secrets = database.secrets;
          return haveChanged;
        },
      },
      onSecrets: () => void applied.push(`secrets ${secrets}`),
      async listen(onChange) {
        notify = onChange;
        return { isConnected: true, close: async () => undefined };
      },
      parse,
      apply(catalog, fromMs) {
        parse(catalog);
        applied.push(`${catalog.name} from ${fromMs}${secrets}`);
      },
      schedule: (all) => {
        announced.push(all.map(({ fromMs }) => fromMs));
        scheduled.push(all[0]?.fromMs ?? null);
      },
      clock: { nowMs: () => database.nowMs },
      logger: { ...silentLogger, error: (_details, message) => void errors.push(message) },
      pollMs: 1,
    });
  });
  afterEach(() => follower.close());

  it('is that of the revision in force, and of each that follows', async () => {
    await follower.start();
    database.revisions.push(revision(2, 900));
    notify();
    await until(() => follower.status.inForce === 2);
    assert.deepEqual(applied, ['revision 1 from 0', 'revision 2 from 900']);
  });

  it('is empty while the database has no revision', async () => {
    database.revisions = [];
    await follower.start();
    assert.deepEqual(follower.status, { inForce: null, scheduled: null, failed: null });
    assert.deepEqual(applied, []);
  });

  it('changes at the instant of a scheduled revision, which is announced before', async () => {
    await follower.start();
    database.revisions.push(revision(2, 1_020));
    notify();
    await until(() => follower.status.scheduled === 2);
    assert.deepEqual([applied.length, scheduled], [1, [1_020]]);
    database.nowMs = 1_020;
    await until(() => follower.status.inForce === 2);
    assert.deepEqual([follower.status.scheduled, scheduled.at(-1)], [null, null]);
  });

  it('changes at the instant of a scheduled revision although the database is down', async () => {
    await follower.start();
    database.revisions.push(revision(2, 1_020));
    notify();
    await until(() => follower.status.scheduled === 2);
    Object.assign(database, { isDown: true, nowMs: 1_020 });
    await until(() => follower.status.inForce === 2);
    assert.deepEqual(applied, ['revision 1 from 0', 'revision 2 from 1020']);
  });

  it('knows all scheduled revisions, and changes at each instant although the database is down', async () => {
    await follower.start();
    database.revisions.push(revision(2, 1_020), revision(3, 1_030));
    notify();
    await until(() => follower.status.scheduled === 2);
    assert.deepEqual(announced.at(-1), [1_020, 1_030]);
    Object.assign(database, { isDown: true, nowMs: 1_020 });
    await until(() => follower.status.inForce === 2);
    assert.deepEqual([follower.status.scheduled, announced.at(-1)], [3, [1_030]]);
    database.nowMs = 1_030;
    await until(() => follower.status.inForce === 3);
    assert.deepEqual(announced.at(-1), []);
  });

  it('stays if a scheduled revision is canceled', async () => {
    await follower.start();
    database.revisions.push(revision(2, 1_020));
    notify();
    await until(() => follower.status.scheduled === 2);
    database.revisions.pop();
    notify();
    await until(() => follower.status.scheduled === null);
    database.nowMs = 2_000;
    notify();
    assert.deepEqual([follower.status.inForce, scheduled], [1, [1_020, null]]);
  });

  it('stays if a revision cannot be used, which is reported once, until it can', async () => {
    await follower.start();
    unusable.add('text 2');
    database.revisions.push(revision(2, 900));
    notify();
    await until(() => follower.status.failed !== null);
    assert.deepEqual(follower.status, {
      inForce: 1,
      scheduled: null,
      failed: { number: 2, message: 'text 2 is unusable', atMs: 1_000 },
    });
    notify();
    unusable.clear();
    await until(() => follower.status.inForce === 2);
    assert.deepEqual([follower.status.failed, errors.length], [null, 1]);
  });

  it('is applied again with changed secrets, also if it could not be used with earlier ones', async () => {
    await follower.start();
    database.secrets = ' with a';
    notify();
    await until(() => applied.length === 2);
    unusable.add('text 1');
    database.secrets = ' with b';
    notify();
    await until(() => follower.status.failed !== null);
    assert.deepEqual([follower.status.inForce, follower.status.failed?.number, errors.length], [1, 1, 1]);
    unusable.clear();
    await until(() => follower.status.failed === null);
    assert.deepEqual(applied, ['revision 1 from 0', 'revision 1 from 0 with a', 'revision 1 from 0 with b']);
  });

  it('of a file is read again with changed secrets', async () => {
    database.revisions = [];
    await follower.start();
    database.secrets = 'a';
    notify();
    await until(() => applied.length === 1);
    notify();
    database.secrets = 'b';
    notify();
    await until(() => applied.length === 2);
    assert.deepEqual(applied, ['secrets a', 'secrets b']);
  });

  it('must be usable at the start', async () => {
    unusable.add('text 1');
    await assert.rejects(follower.start(), /text 1 is unusable/);
  });
});
