import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { assertRefused, CALL_TOKENS, createSubscriber, plansText, type Subscriber } from './coding.ts';

/**
 * Plans do not depend on a calendar: five hours, weeks and periods are absolute durations, wherever the anchor lies and whatever local
 * clocks do meanwhile. The database has a time zone with daylight saving here, where days of 23 and 25 hours would show.
 */

const DAY_MS = 24 * 3_600_000;
const DATABASE_ZONE = 'Europe/Berlin';

/** Each anchor, and the end of its first week and of its thirty days, calculated by hand. */
const ANCHORS = [
  {
    what: 'the hour that Berlin skips in spring comes in the first week',
    startsAt: '2026-03-28T02:30:00+01:00',
    weekEnd: '2026-04-04T03:30:00+02:00',
    periodEnd: '2026-04-27T03:30:00+02:00',
  },
  {
    what: 'the anchor is the hour that Berlin has twice in autumn, the first time',
    startsAt: '2026-10-25T02:30:00+02:00',
    weekEnd: '2026-11-01T01:30:00+01:00',
    periodEnd: '2026-11-24T01:30:00+01:00',
  },
  {
    what: 'the anchor is the hour that Berlin has twice in autumn, the second time',
    startsAt: '2026-10-25T02:30:00+01:00',
    weekEnd: '2026-11-01T02:30:00+01:00',
    periodEnd: '2026-11-24T02:30:00+01:00',
  },
  {
    what: 'the first week ends with New York’s change to summer time',
    startsAt: '2027-03-07T02:30:00-05:00',
    weekEnd: '2027-03-14T03:30:00-04:00',
    periodEnd: '2027-04-06T03:30:00-04:00',
  },
  {
    what: 'the anchor is the day before a leap day',
    startsAt: '2028-02-28T12:00:00Z',
    weekEnd: '2028-03-06T12:00:00Z',
    periodEnd: '2028-03-29T12:00:00Z',
  },
  {
    what: 'the anchor is a leap day',
    startsAt: '2028-02-29T12:00:00Z',
    weekEnd: '2028-03-07T12:00:00Z',
    periodEnd: '2028-03-30T12:00:00Z',
  },
  {
    what: 'a February without a leap day comes in between',
    startsAt: '2029-02-25T12:00:00Z',
    weekEnd: '2029-03-04T12:00:00Z',
    periodEnd: '2029-03-27T12:00:00Z',
  },
  {
    what: 'the year ends in the first week',
    startsAt: '2029-12-29T23:59:59.999Z',
    weekEnd: '2030-01-05T23:59:59.999Z',
    periodEnd: '2030-01-28T23:59:59.999Z',
  },
] as const;

describe(`Coding Plans and the calendar`, () => {
  let stored: TestDatabase;
  let gateway: TestGateway;
  let clock: TestClock;
  before(async () => {
    clock = createTestClock('2026-03-01T00:00:00Z');
    stored = await createTestDatabase();
    const plans = plansText({
      week: { weeklyCalls: 1 },
      period: { quotaTokens: CALL_TOKENS },
      five: { fiveHourCalls: 1 },
    });
    const name = new URL(stored.url).pathname.slice(1);
    await stored.database.script(`alter database ${name} set timezone to '${DATABASE_ZONE}'`);
    gateway = await startGateway({ stored, database: stored.openAnother(), clock, plans });
    const [zone] = await gateway.database.query<{ zone: string }>({
      name: 'test.zone',
      text: `select current_setting('timezone') as zone`,
    });
    assert.equal(zone?.zone, DATABASE_ZONE);
  });
  after(async () => {
    await gateway.stop();
    await stored.remove();
  });

  const iso = (instant: string, offsetMs = 0): string => new Date(Date.parse(instant) + offsetMs).toISOString();

  /** Uses the plan's only call at its start, and calls again just before and at the end. */
  async function assertRefusedUntil(
    planId: string,
    startsAt: string,
    end: string,
    refusal: { status: number; code: string },
  ): Promise<Subscriber> {
    clock.set(iso(startsAt, -DAY_MS));
    const subscriber = await createSubscriber(gateway, planId, { startsAt });
    await gateway.admin('POST', `/subscriptions/${subscriber.subscriptionId}/renewals`);
    clock.set(iso(startsAt, -1));
    assertRefused(await subscriber.call(), 402, 'insufficient_package');
    clock.set(iso(startsAt));
    assert.equal((await subscriber.call()).status, 200);
    const seconds = (Date.parse(end) - Date.parse(startsAt)) / 1_000;
    assertRefused(await subscriber.call(), refusal.status, refusal.code, seconds);
    clock.set(iso(end, -1));
    assertRefused(await subscriber.call(), refusal.status, refusal.code, 1);
    clock.set(iso(end));
    assert.equal((await subscriber.call()).status, 200);
    return subscriber;
  }

  for (const { what, startsAt, weekEnd, periodEnd } of ANCHORS) {
    it(`${what}: the week is 168 hours long`, async () => {
      const subscriber = await assertRefusedUntil('week', startsAt, weekEnd, {
        status: 429,
        code: 'package_weekly_quota_exhausted',
      });
      const { weekly } = await subscriber.snapshot();
      assert.deepEqual([weekly.windowStart, weekly.windowEnd], [iso(weekEnd), iso(weekEnd, 7 * DAY_MS)]);
    });

    it(`${what}: the thirty days are 720 hours long, and so are those of the renewal`, async () => {
      const subscriber = await assertRefusedUntil('period', startsAt, periodEnd, {
        status: 402,
        code: 'insufficient_package',
      });
      const { pkg } = await subscriber.snapshot();
      assert.deepEqual([pkg.periodStart, pkg.periodEnd], [iso(periodEnd), iso(periodEnd, 30 * DAY_MS)]);
      clock.set(iso(periodEnd, 30 * DAY_MS));
      assertRefused(await subscriber.call(), 402, 'package_expired');
    });
  }

  for (const startsAt of ['2026-03-29T00:30:00+01:00', '2026-10-25T00:30:00+02:00', '2029-12-31T21:00:00Z']) {
    it(`five hours from ${startsAt} are five hours`, async () => {
      await assertRefusedUntil('five', startsAt, iso(startsAt, 5 * 3_600_000), {
        status: 429,
        code: 'package_5h_quota_exhausted',
      });
    });
  }
});
