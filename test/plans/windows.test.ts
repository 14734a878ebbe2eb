import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { call, startCall } from '../support/client.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { wireEngines } from '../support/database.ts';
import { startGateway, type TestGateway, testConfigText } from '../support/gateway.ts';
import { chatResponse, json, liveResponse } from '../support/provider.ts';
import {
  assertRefused,
  CALL_TOKENS,
  CODING_CHAT,
  codingBody,
  createSubscriber,
  grant,
  nothingInFlight,
  plansText,
} from './coding.ts';

/** Coding Plans as time goes by: five hours, weeks, periods, ends and beginnings, to the millisecond. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const FIVE_HOURS = 'package_5h_quota_exhausted';
const WEEK = 'package_weekly_quota_exhausted';

const PLANS = {
  five: { fiveHourCalls: 3 },
  lowered: { fiveHourCalls: 4 },
  week: { weeklyCalls: 2 },
  tokens: { quotaTokens: 2 * CALL_TOKENS - 1, periodDays: 3 },
  short: { periodDays: 10, name: 'Short' },
  other: { fiveHourCalls: 2, weeklyCalls: 2, name: 'Other' },
};

for (const engine of wireEngines) {
  describe(`Coding Plans over time, ${engine}`, () => {
    let gateway: TestGateway;
    let clock: TestClock;
    before(async () => {
      clock = createTestClock('2026-03-02T09:00:00Z');
      gateway = await startGateway({ engine, clock, plans: plansText(PLANS) });
    });
    after(() => gateway.stop());

    const iso = (epochMs: number): string => new Date(epochMs).toISOString();
    const at = (epochMs: number): void => clock.set(iso(epochMs));

    describe('the five hours', () => {
      it('give the slot of each call back exactly five hours after it, and say until then how long that is', async () => {
        const beganMs = clock.nowMs();
        const subscriber = await createSubscriber(gateway, 'five');
        for (const offsetMs of [0, 10 * MINUTE_MS, 20 * MINUTE_MS + 500]) {
          at(beganMs + offsetMs);
          assert.equal((await subscriber.call()).status, 200);
        }
        at(beganMs + 30 * MINUTE_MS);
        assertRefused(await subscriber.call(), 429, FIVE_HOURS, 4.5 * 3_600);
        assert.equal((await subscriber.used()).fiveHour, 3);
        const { is_active, isValid, active, remaining, fiveHour } = await subscriber.snapshot();
        assert.deepEqual([active, is_active, isValid, remaining], [true, false, false, 0]);
        assert.deepEqual(fiveHour, {
          limit: 3,
          used: 3,
          remaining: 0,
          usedPercent: 100,
          resetAt: iso(clock.nowMs() + 5 * HOUR_MS),
        });

        at(beganMs + 5 * HOUR_MS - 1);
        assertRefused(await subscriber.call(), 429, FIVE_HOURS, 1);
        at(beganMs + 5 * HOUR_MS);
        assert.equal((await subscriber.used()).fiveHour, 2);
        assert.equal((await subscriber.call()).status, 200);
        assertRefused(await subscriber.call(), 429, FIVE_HOURS, 600);

        // The third came half a second after the minute: a client that waits the seconds out is not too early.
        at(beganMs + 5 * HOUR_MS + 10 * MINUTE_MS);
        assert.equal((await subscriber.call()).status, 200);
        assertRefused(await subscriber.call(), 429, FIVE_HOURS, 601);
        clock.advance(601 * SECOND_MS);
        assert.equal((await subscriber.call()).status, 200);
      });

      it('count refused calls neither in the five hours nor in the week', async () => {
        const subscriber = await createSubscriber(gateway, 'five');
        const responses = [];
        for (let n = 0; n < 6; n++) responses.push((await subscriber.call()).status);
        assert.deepEqual(responses, [200, 200, 200, 429, 429, 429]);
        assert.deepEqual(await subscriber.used(), { fiveHour: 3, weekly: 3, inFlight: 0, tokens: 3 * CALL_TOKENS });
      });

      it('are over all at once for calls that came at once', async () => {
        const subscriber = await createSubscriber(gateway, 'five');
        await Promise.all([subscriber.call(), subscriber.call(), subscriber.call()]);
        clock.advance(5 * HOUR_MS);
        const statuses = (await Promise.all(Array.from({ length: 5 }, () => subscriber.call()))).map((a) => a.status);
        assert.deepEqual(statuses.toSorted(), [200, 200, 200, 429, 429]);
      });

      it('of a plan that was lowered are free when enough of the calls are five hours old', async () => {
        const subscriber = await createSubscriber(gateway, 'lowered');
        const beganMs = clock.nowMs();
        for (let hour = 0; hour < 4; hour++) {
          at(beganMs + hour * HOUR_MS);
          assert.equal((await subscriber.call()).status, 200);
        }
        const reload = (plans: Parameters<typeof plansText>[0]): void => {
          const text = testConfigText(gateway.provider.url, { plans: plansText(plans) });
          gateway.gateway.reload(parseConfig(text, 'test.yaml', {}));
        };
        reload({ ...PLANS, lowered: { fiveHourCalls: 2 } });
        try {
          // One of the four is over; of the other three two have to be.
          at(beganMs + 5.5 * HOUR_MS);
          assertRefused(await subscriber.call(), 429, FIVE_HOURS, 1.5 * 3_600);
          at(beganMs + 7 * HOUR_MS - 1);
          assertRefused(await subscriber.call(), 429, FIVE_HOURS, 1);
          at(beganMs + 7 * HOUR_MS);
          assert.equal((await subscriber.call()).status, 200);
        } finally {
          reload(PLANS);
        }
      });
    });

    describe('the week', () => {
      it('begins anew every seven days from the anchor, whenever its calls came', async () => {
        const anchorMs = clock.nowMs();
        const subscriber = await createSubscriber(gateway, 'week');
        assert.equal((await subscriber.call()).status, 200);
        at(anchorMs + 6 * DAY_MS);
        assert.equal((await subscriber.call()).status, 200);
        clock.advance(6 * HOUR_MS);
        assertRefused(await subscriber.call(), 429, WEEK, 18 * 3_600);
        const exhausted = await subscriber.snapshot();
        assert.deepEqual([exhausted.is_active, exhausted.remaining, exhausted.fiveHour.used], [false, 0, 0]);
        assert.deepEqual(
          [exhausted.weekly.windowStart, exhausted.weekly.windowEnd],
          [iso(anchorMs), iso(anchorMs + 7 * DAY_MS)],
        );

        at(anchorMs + 7 * DAY_MS - 1);
        assertRefused(await subscriber.call(), 429, WEEK, 1);
        at(anchorMs + 7 * DAY_MS);
        assert.equal((await subscriber.used()).weekly, 0);
        assert.equal((await subscriber.call()).status, 200);
        // Two weeks without a call change nothing.
        at(anchorMs + 24 * DAY_MS);
        const { weekly } = await subscriber.snapshot();
        assert.deepEqual([weekly.used, weekly.windowStart], [0, iso(anchorMs + 21 * DAY_MS)]);
      });

      it('takes no call back that was counted in the week before', async () => {
        const subscriber = await createSubscriber(gateway, 'week');
        const live = liveResponse();
        gateway.provider.respond = live.respond;
        const failing = startCall(gateway.url + CODING_CHAT, subscriber.key, { ...codingBody, stream: true });
        await live.opened;
        clock.advance(7 * DAY_MS);
        gateway.provider.respond = chatResponse();
        assert.equal((await subscriber.call()).status, 200);
        live.reset();
        assert.equal((await failing.response).status, 502);
        assert.deepEqual(await subscriber.used(), { fiveHour: 1, weekly: 1, inFlight: 0, tokens: CALL_TOKENS });
      });
    });

    describe('the period', () => {
      it('refuses calls once its tokens are used up, and begins anew if the plan goes on', async () => {
        const anchorMs = clock.nowMs();
        const subscriber = await createSubscriber(gateway, 'tokens');
        // The second is let in with 17 tokens left: what it takes is known at its end.
        assert.equal((await subscriber.call()).status, 200);
        assert.equal((await subscriber.call()).status, 200);
        at(anchorMs + DAY_MS);
        const refused = await subscriber.call();
        assertRefused(refused, 402, 'insufficient_package', 2 * 86_400);
        assert.match(refused.json.error.message, /tokens/);
        const compacted = await call(`${gateway.url}/v1/coding/responses/compact`, subscriber.key, {
          model: 'test-responses',
          input: 'x',
        });
        assertRefused(compacted, 429, 'insufficient_package', 2 * 86_400);
        const { is_active, remaining, pkg } = await subscriber.snapshot();
        assert.deepEqual([is_active, remaining], [false, 0]);
        assert.deepEqual([pkg.usedTokens, pkg.remainingTokens, pkg.usagePercent], [36, 0, 100]);
        assert.deepEqual([pkg.periodStart, pkg.periodEnd], [iso(anchorMs), iso(anchorMs + 3 * DAY_MS)]);

        await gateway.admin('POST', `/subscriptions/${subscriber.subscriptionId}/renewals`);
        at(anchorMs + 3 * DAY_MS - 1);
        assertRefused(await subscriber.call(), 402, 'insufficient_package', 1);
        at(anchorMs + 3 * DAY_MS);
        assert.equal((await subscriber.used()).tokens, 0);
        assert.equal((await subscriber.call()).status, 200);
        assert.equal((await subscriber.snapshot()).pkg.periodStart, iso(anchorMs + 3 * DAY_MS));
      });

      it('is charged the tokens of the calls that were admitted in it, however late they end', async () => {
        const subscriber = await createSubscriber(gateway, 'tokens');
        await gateway.admin('POST', `/subscriptions/${subscriber.subscriptionId}/renewals`);
        const live = liveResponse({ 'content-type': 'application/json' });
        gateway.provider.respond = live.respond;
        const slow = startCall(gateway.url + CODING_CHAT, subscriber.key, codingBody);
        await live.opened;
        clock.advance(3 * DAY_MS);
        gateway.provider.respond = chatResponse();
        assert.equal((await subscriber.call()).status, 200);
        await live.write('{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":1000}}');
        live.end();
        assert.equal((await slow.response).status, 200);
        assert.deepEqual(await subscriber.used(), { fiveHour: 1, weekly: 2, inFlight: 0, tokens: CALL_TOKENS });
      });
    });

    describe('its end and its beginning', () => {
      it('expire to the millisecond, and show that in the snapshot', async () => {
        const anchorMs = clock.nowMs();
        const subscriber = await createSubscriber(gateway, 'short');
        at(anchorMs + 10 * DAY_MS - 1);
        assert.equal((await subscriber.call()).status, 200);
        at(anchorMs + 10 * DAY_MS);
        assertRefused(await subscriber.call(), 402, 'package_expired');
        const { active, is_active, remaining, fiveHour, message } = await subscriber.snapshot();
        assert.deepEqual([active, is_active, remaining, fiveHour], [false, false, 0, null]);
        assert.match(message, /expired at 20/);
      });

      it('move by a period with a renewal, while weeks and periods go on from the same anchor', async () => {
        const anchorMs = clock.nowMs();
        const subscriber = await createSubscriber(gateway, 'short');
        at(anchorMs + 8 * DAY_MS);
        assert.equal((await subscriber.call()).status, 200);
        const path = `/subscriptions/${subscriber.subscriptionId}/renewals`;
        const renewed = await gateway.admin('POST', path);
        assert.deepEqual([renewed.body.startsAt, renewed.body.endsAt], [iso(anchorMs), iso(anchorMs + 20 * DAY_MS)]);
        const before = await subscriber.snapshot();
        assert.deepEqual([before.weekly.used, before.weekly.windowStart], [1, iso(anchorMs + 7 * DAY_MS)]);
        assert.deepEqual([before.pkg.periodStart, before.pkg.periodEnd], [iso(anchorMs), iso(anchorMs + 10 * DAY_MS)]);

        // Late by a day: what was missed is not given again.
        at(anchorMs + 21 * DAY_MS);
        assertRefused(await subscriber.call(), 402, 'package_expired');
        assert.equal((await gateway.admin('POST', path)).status, 201);
        assert.equal((await subscriber.call()).status, 200);
        const late = await subscriber.snapshot();
        assert.equal(late.weekly.windowStart, iso(anchorMs + 21 * DAY_MS));
        assert.deepEqual(
          [late.pkg.periodStart, late.pkg.periodEnd],
          [iso(anchorMs + 20 * DAY_MS), iso(anchorMs + 30 * DAY_MS)],
        );
        // Longer ago than a renewal lasts.
        at(anchorMs + 40 * DAY_MS);
        assert.equal((await gateway.admin('POST', path)).status, 409);
      });

      it('wait for a scheduled start, which is the anchor then', async () => {
        const startsMs = clock.nowMs() + 36 * HOUR_MS;
        const subscriber = await createSubscriber(gateway, 'week', { startsAt: iso(startsMs) });
        at(startsMs - 1);
        assertRefused(await subscriber.call(), 402, 'insufficient_package');
        const early = await subscriber.snapshot();
        assert.equal(early.active, false);
        assert.ok(early.message.includes(iso(startsMs)), early.message);
        at(startsMs);
        assert.equal((await subscriber.call()).status, 200);
        assert.equal((await subscriber.snapshot()).weekly.windowStart, iso(startsMs));
      });

      it('come at once with a cancellation; another plan after it begins with nothing used', async () => {
        const subscriber = await createSubscriber(gateway, 'five');
        for (let n = 0; n < 3; n++) assert.equal((await subscriber.call()).status, 200);
        const second = await gateway.admin('POST', `/accounts/${subscriber.id}/subscriptions`, { planId: 'other' });
        assert.equal(second.status, 409);

        assert.equal((await gateway.admin('DELETE', `/subscriptions/${subscriber.subscriptionId}`)).status, 204);
        assertRefused(await subscriber.call(), 402, 'insufficient_package');
        assert.equal((await subscriber.snapshot()).active, false);
        clock.advance(MINUTE_MS);
        await grant(gateway, subscriber.id, 'other');
        const fresh = await subscriber.snapshot();
        assert.deepEqual([fresh.planName, fresh.remaining, fresh.weekly.used], ['Other', 2, 0]);
        assert.equal(fresh.weekly.windowStart, iso(clock.nowMs()));
        assert.equal((await subscriber.call()).status, 200);
        assert.equal((await subscriber.call()).status, 200);
        assertRefused(await subscriber.call(), 429, FIVE_HOURS, 5 * 3_600);
      });

      it('keep a call in flight apart from the plan that came after its own was canceled', async () => {
        const subscriber = await createSubscriber(gateway, 'five');
        const calls = [liveResponse({ 'content-type': 'application/json' }), liveResponse()];
        const responses = [];
        for (const live of calls) {
          gateway.provider.respond = live.respond;
          const body = { ...codingBody, stream: live === calls[1] };
          responses.push(startCall(gateway.url + CODING_CHAT, subscriber.key, body).response);
          await live.opened;
        }
        await gateway.admin('DELETE', `/subscriptions/${subscriber.subscriptionId}`);
        await grant(gateway, subscriber.id, 'other');
        gateway.provider.respond = chatResponse();
        assert.equal((await subscriber.call()).status, 200);
        const ownUse = { fiveHour: 1, weekly: 1, inFlight: 0, tokens: CALL_TOKENS };
        assert.deepEqual(await subscriber.used(), ownUse);
        await calls[0]!.write('{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":5}}');
        calls[0]!.end();
        calls[1]!.reset();
        assert.deepEqual(
          (await Promise.all(responses)).map(({ status }) => status),
          [200, 502],
        );
        await nothingInFlight(gateway.database, subscriber.id);
        assert.deepEqual(await subscriber.used(), ownUse);
      });
    });

    describe('beside the balance', () => {
      it('serve an account without money, and leave no trace in its ledger', async () => {
        const subscriber = await createSubscriber(gateway, 'other');
        assert.equal((await subscriber.call()).status, 200);
        assert.deepEqual(await subscriber.money(), { balanceNano: 0n, heldNano: 0n });
        const { context, chargeYuan, status } = await subscriber.lastCall();
        assert.deepEqual([context, chargeYuan, status], ['coding', null, 'succeeded']);
        const balanceCall = await call(`${gateway.url}/v1/chat/completions`, subscriber.key, codingBody);
        assertRefused(balanceCall, 402, 'insufficient_balance');
        assert.equal((await subscriber.used()).fiveHour, 1);
      });

      it('do not fall back on the balance when they are used up, and a balance call uses nothing of them', async () => {
        const subscriber = await createSubscriber(gateway, 'other', { balanceYuan: '100' });
        for (let n = 0; n < 2; n++) assert.equal((await subscriber.call()).status, 200);
        const asked = gateway.provider.requests.length;
        assertRefused(await subscriber.call(), 429, FIVE_HOURS, 5 * 3_600);
        assert.equal(gateway.provider.requests.length, asked);
        assert.deepEqual(await subscriber.money(), { balanceNano: 100_000_000_000n, heldNano: 0n });

        const before = await subscriber.used();
        gateway.provider.respond = json(200, { choices: [], usage: { prompt_tokens: 11, completion_tokens: 7 } });
        assert.equal((await call(`${gateway.url}/v1/chat/completions`, subscriber.key, codingBody)).status, 200);
        gateway.provider.respond = chatResponse();
        assert.deepEqual(await subscriber.used(), before);
        const spentNano = 11n * 3_000n + 7n * 13_000n;
        assert.deepEqual(await subscriber.money(), { balanceNano: 100_000_000_000n - spentNano, heldNano: 0n });
      });
    });
  });
}
