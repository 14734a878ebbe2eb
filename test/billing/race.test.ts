import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ClientResponse, call } from '../support/client.ts';
import { engines } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, json } from '../support/provider.ts';

const CALLS = 50;

for (const engine of engines) {
  describe(`${CALLS} calls racing on ${engine}`, () => {
    let g: TestGateway;
    before(async () => {
      g = await startGateway({ engine });
    });
    after(() => g.stop());

    const race = (key: string, body: object): Promise<ClientResponse[]> =>
      Promise.all(Array.from({ length: CALLS }, () => call(`${g.url}/v1/chat/completions`, key, body)));

    it('never spend ¥0.01 fifty times: one call overdraws by its own cost at most', async () => {
      // Each call costs ¥0.016 in the end: 4,900 input and 100 output tokens, all that its model writes.
      const usage = { prompt_tokens: 4_900, completion_tokens: 100, total_tokens: 5_000 };
      const costNano = 4_900n * 3_000n + 100n * 13_000n;
      g.provider.respond = json(200, chatCompletion(usage));
      const account = await g.createAccount({ balanceYuan: '0.01' });
      const responses = await race(account.key, {
        model: 'test-chat',
        messages: [{ role: 'user', content: 'x'.repeat(12_000) }],
        max_tokens: 100,
      });
      const spent = responses.filter(({ status }) => status === 200);
      const refused = responses.filter(({ status }) => status === 402);
      assert.equal(spent.length + refused.length, CALLS);
      for (const { json: body, headers } of refused) {
        assert.equal(body.error.code, 'insufficient_balance');
        // It depends on whether the call that takes all of it has ended by then.
        const isHeld = headers['x-should-retry'] === 'true';
        assert.equal(headers['retry-after'], isHeld ? '2' : undefined);
      }
      assert.equal(spent.length, 1);
      assert.deepEqual(await account.money(), { balanceNano: 10_000_000n - costNano, heldNano: 0n });
    });

    it('spend a balance that fits them all to the nano-yuan', async () => {
      const usage = { prompt_tokens: 7, completion_tokens: 11, total_tokens: 18 };
      g.provider.respond = json(200, chatCompletion(usage));
      const account = await g.createAccount({ balanceYuan: '1' });
      const responses = await race(account.key, { model: 'test-chat', messages: [], max_tokens: 100 });
      assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
      const costNano = BigInt(CALLS) * (7n * 3_000n + 11n * 13_000n);
      assert.deepEqual(await account.money(), { balanceNano: 1_000_000_000n - costNano, heldNano: 0n });
    });

    it('stop at the daily cap, and no more of them get through than one beyond it', async () => {
      const usage = { prompt_tokens: 0, completion_tokens: 100, total_tokens: 100 };
      g.provider.respond = json(200, chatCompletion(usage));
      const account = await g.createAccount({ balanceYuan: '100', dailySpendCapYuan: '0.002' });
      const responses = await race(account.key, { model: 'test-chat', messages: [], max_tokens: 100 });
      const refused = responses.filter(({ status }) => status === 429);
      for (const { json: body, headers } of refused) {
        assert.equal(body.error.code, 'balance_daily_limit_exceeded');
        assert.equal(body.error.type, 'insufficient_quota');
        const isHeld = headers['x-should-retry'] === 'true';
        assert.match(
          body.error.message,
          isHeld ? /held by calls in flight/ : /This quota is exhausted and will reset at .*, in /,
        );
      }
      const spentNano = BigInt(CALLS - refused.length) * 1_300_000n;
      assert.ok(spentNano >= 1_300_000n && spentNano < 2_000_000n + 1_300_000n, String(spentNano));
      assert.deepEqual(await account.money(), { balanceNano: 100_000_000_000n - spentNano, heldNano: 0n });
    });
  });
}
