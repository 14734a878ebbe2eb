import type { Attack } from '../attack.ts';

/** More consecutive errors than open a breaker, so fast that no call of the innocent caller comes in between. */
const AT_A_TIME = 12;
const BURSTS_PER_SECOND = 3;

export const providerErrors: Attack = {
  name: 'provider-errors',
  sends: `${AT_A_TIME} calls at a time, three times a second, to which the innocent caller's provider responds with 500`,
  seconds: 2,
  callers: { funded: { balanceYuan: '100' } },
  async run(scene) {
    const body = {
      model: 'shop-chat',
      user: scene.mark('error:500', 'funded'),
      messages: [{ role: 'user', content: '\ud800' }],
    };
    const request = { path: '/v1/chat/completions', key: scene.key('funded'), body };
    await scene.pace(BURSTS_PER_SECOND, () =>
      Promise.all(Array.from({ length: AT_A_TIME }, () => scene.send(request))),
    );
    scene.expectStatuses(500, 502, 503);
    const { bill } = await scene.settle('funded', 'responses of 500');
    scene.note(`${bill.length} calls reached the provider`);
  },
};
