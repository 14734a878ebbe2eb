import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { until } from '../../../../test/support/until.ts';
import { silentLogger } from '../../../lib/logger.ts';
import type { Drain } from './drain-store.ts';
import { createDrains, DRAINS_MAX, type DrainNotifications, type Drains } from './drains.ts';

const drainOf = (providerId: string, model: string | null = null, providerModel: string | null = null): Drain => ({
  providerId,
  model,
  providerModel,
  reason: null,
  drainedBy: 'alice',
  drainedAt: new Date(0),
});

describe('drains in force', () => {
  /** The state of the database and the number of reads; reads fail while it is down. */
  const database = { drains: [] as Drain[], reads: 0, isDown: false };
  const notifications = { isConnected: true, close: async () => undefined };
  let notify: () => void;
  let drains: Drains;
  let warnings: string[];

  beforeEach(async () => {
    Object.assign(database, { drains: [], reads: 0, isDown: false });
    notifications.isConnected = true;
    warnings = [];
    drains = createDrains({
      store: {
        async list() {
          database.reads++;
          if (database.isDown) throw new Error('the database is down');
          return [...database.drains];
        },
      },
      changes: {
        async insert(drain) {
          database.drains = [...database.drains, drain];
          return drain;
        },
        async delete({ providerId }) {
          const ended = database.drains.find((drain) => drain.providerId === providerId) ?? null;
          database.drains = database.drains.filter((drain) => drain !== ended);
          return ended;
        },
      },
      async listen(onChange): Promise<DrainNotifications> {
        notify = onChange;
        return notifications;
      },
      logger: { ...silentLogger, warn: (_details, message) => void warnings.push(message) },
      pollMs: 1,
    });
    await drains.start();
  });
  afterEach(() => drains.close());

  const isDrained = (model: string, providerId: string, providerModel: string): boolean =>
    drains.find(model, { providerId, providerModel }) !== null;

  it('apply to the routes of a provider, of a model at it, or to single routes', async () => {
    database.drains = [drainOf('a'), drainOf('b', 'm'), drainOf('c', 'm', 'x'), drainOf('d', null, 'x')];
    await drains.refresh();
    assert.deepEqual(
      [
        isDrained('any', 'a', 'any'),
        isDrained('m', 'b', 'any'),
        isDrained('n', 'b', 'any'),
        isDrained('m', 'c', 'x'),
        isDrained('m', 'c', 'y'),
        isDrained('n', 'd', 'x'),
        isDrained('n', 'd', 'y'),
        isDrained('m', 'e', 'x'),
      ],
      [true, true, false, true, false, true, false, false],
    );
  });

  it('are read after a notification, and not otherwise', async () => {
    assert.equal(database.reads, 1);
    database.drains = [drainOf('a')];
    notify();
    await until(() => isDrained('m', 'a', 'x'));
    assert.equal(database.reads, 2);
  });

  it('are polled while notifications are unavailable', async () => {
    notifications.isConnected = false;
    database.drains = [drainOf('a')];
    await until(() => isDrained('m', 'a', 'x'));
    database.drains = [];
    await until(() => !isDrained('m', 'a', 'x'));
  });

  it('stay in force while the database is down, and are read as soon as it is up', async () => {
    database.drains = [drainOf('a')];
    await drains.refresh();
    database.isDown = true;
    database.drains = [drainOf('b')];
    notify();
    const reads = database.reads;
    await until(() => database.reads > reads + 2);
    assert.deepEqual([isDrained('m', 'a', 'x'), isDrained('m', 'b', 'x')], [true, false]);
    assert.equal(warnings.length, 1);
    database.isDown = false;
    await until(() => isDrained('m', 'b', 'x'));
  });

  it('are applied immediately by the node that changes them, and are limited in number', async () => {
    assert.deepEqual(await drains.begin(drainOf('a')), drainOf('a'));
    assert.equal(isDrained('m', 'a', 'x'), true);
    assert.deepEqual(await drains.end(drainOf('a')), drainOf('a'));
    assert.equal(isDrained('m', 'a', 'x'), false);
    assert.equal(await drains.end(drainOf('a')), null);
    database.drains = Array.from({ length: DRAINS_MAX }, (_, n) => drainOf(`p${n}`));
    assert.equal(await drains.begin(drainOf('one more')), 'too_many');
    assert.equal(database.drains.length, DRAINS_MAX);
  });
});
