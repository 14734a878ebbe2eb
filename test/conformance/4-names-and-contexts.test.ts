import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertSpent, startGateway, type TestGateway } from '../support/gateway.ts';
import {
  type Address,
  addresses,
  askAddress,
  askFor,
  assertRefusal,
  badKey,
  noPlan,
  responseAnything,
  streamed,
  workOf,
  works,
} from './addresses.ts';
import { assertCounted, assertPlanUse, createSubscriber, padded, plansText, subscribe } from './plans.ts';

const ofMessages = addresses.filter(({ path }) => path.includes('altproto'));
const renamed = (address: Address, name: string): Address => ({
  ...address,
  path: address.path.replace('altproto', name),
});
const find = (path: string): Address => addresses.find((address) => address.path === path)!;

describe('4 Endpoints', () => {
  describe('under several vendor names', () => {
    let gateway: TestGateway;
    before(async () => {
      gateway = await startGateway({
        server: 'protocolNames: { chat: [ac-me, compat], messages: [other, altproto, anthropic] }',
        plans: plansText({ roomy: {} }),
      });
      gateway.provider.respond = responseAnything;
    });
    after(() => gateway.stop());

    for (const name of ['other', 'altproto', 'anthropic']) {
      it(`4 every messages-style address is served under the mounted name ${name}`, async () => {
        const account = await gateway.createAccount();
        for (const address of ofMessages) {
          const mounted = renamed(address, name);
          const response = await askAddress(gateway.url, mounted, account.key);
          if (mounted.context === 'coding') assertRefusal(response, 'messages', noPlan(402));
          else assert.equal(response.status, mounted.work === 'codingMessagesModelDetail' ? 404 : 200, mounted.path);
          assertRefusal(await askAddress(gateway.url, mounted, null), mounted.envelope, badKey);
        }
        await assertSpent(account, 0n);
      });

      it(`4 every messages-style address of the Coding Plan counts against it under the mounted name ${name}`, async () => {
        const subscriber = await createSubscriber(gateway, 'roomy');
        let calls = 0;
        for (const address of ofMessages) {
          const mounted = renamed(address, name);
          const response = await askAddress(gateway.url, mounted, subscriber.key);
          assert.equal(response.status, 200, `${mounted.path}: ${response.text}`);
          if (mounted.context === 'coding') calls += 1;
        }
        assert.equal(calls, 3);
        await assertCounted(gateway, subscriber, { calls, tokens: calls * works.messages.tokens });
      });

      it(`4 ${name}-version and ${name}-beta are read, and reach the provider under its vendor's name`, async () => {
        const account = await gateway.createAccount();
        const response = await askAddress(gateway.url, find('/v1/messages'), account.key, {
          headers: { [`${name}-version`]: '2026-10-21', [`${name}-beta`]: `beta-of-${name}` },
        });
        assert.equal(response.status, 200, response.text);
        const { headers } = gateway.provider.requests.at(-1)!;
        assert.equal(headers['anthropic-version'], '2026-10-21');
        assert.equal(headers['anthropic-beta'], `beta-of-${name}`);
        const names = Object.keys(headers).filter((each) => /-(version|beta)$/.test(each));
        assert.deepEqual(names.sort(), ['anthropic-beta', 'anthropic-version']);
        await assertSpent(account, workOf(find('/v1/messages')).costNano!);
      });
    }

    it('4 headers under a name that is not mounted do not reach the provider', async () => {
      const account = await gateway.createAccount();
      const response = await askAddress(gateway.url, find('/v1/messages'), account.key, {
        headers: { 'stranger-version': '2026-10-21', 'stranger-beta': 'x' },
      });
      assert.equal(response.status, 200);
      const { headers } = gateway.provider.requests.at(-1)!;
      assert.equal(headers['anthropic-version'], '2023-06-01');
      assert.ok(!Object.keys(headers).some((name) => name.startsWith('stranger')));
      await assertSpent(account, workOf(find('/v1/messages')).costNano!);
    });

    it('4 the first name of each protocol is the one in the words of the catalog', async () => {
      const { json } = await askFor(gateway.url, '/v1/public/models');
      const words = new Set<string>();
      for (const { apiInterfaces } of json.models) {
        for (const { id, operations } of apiInterfaces) {
          words.add(id);
          for (const operation of operations) words.add(operation.id);
        }
      }
      assert.deepEqual([...words].sort(), [
        'AC_ME_CHAT_COMPLETIONS',
        'AC_ME_CHAT_CREATE',
        'AC_ME_IMAGES',
        'AC_ME_IMAGES_EDIT',
        'AC_ME_IMAGES_GENERATE',
        'AC_ME_RESPONSES',
        'AC_ME_RESPONSES_COMPACT',
        'AC_ME_RESPONSES_CREATE',
        'OTHER_MESSAGES',
        'OTHER_MESSAGES_CREATE',
      ]);
    });

    it('4 the catalog lists the address of messages that draws on the balance, whatever names are mounted', async () => {
      const { json } = await askFor(gateway.url, '/v1/public/models');
      const paths = json.models.flatMap(({ apiInterfaces }: { apiInterfaces: { operations: { path: string }[] }[] }) =>
        apiInterfaces.flatMap(({ operations }) => operations.map(({ path }) => path)),
      );
      assert.ok(paths.includes('/v1/messages'));
      assert.ok(!paths.some((path: string) => path.includes('other') || path.includes('altproto')));
    });

    it('4 an unknown address under any mounted name responds in the messages envelope', async () => {
      for (const name of ['other', 'altproto', 'anthropic']) {
        for (const path of [`/${name}/v1/nothing`, `/v1/coding/${name}/nothing`]) {
          assertRefusal(await askFor(gateway.url, path), 'messages', {
            status: 404,
            code: 'not_found',
            type: 'not_found_error',
          });
        }
      }
    });
  });

  describe('with messagesContext: balance', () => {
    let gateway: TestGateway;
    before(async () => {
      gateway = await startGateway({
        server: 'messagesContext: balance, protocolNames: { messages: [altproto, other] }',
        plans: plansText({ roomy: {} }),
      });
      gateway.provider.respond = responseAnything;
    });
    after(() => gateway.stop());

    it('4 server.messagesContext: balance makes POST /altproto/v1/messages draw on the balance, under every name', async () => {
      for (const name of ['altproto', 'other']) {
        const account = await gateway.createAccount();
        const address = renamed(find('/altproto/v1/messages'), name);
        const response = await askAddress(gateway.url, address, account.key);
        assert.equal(response.status, 200, response.text);
        await assertSpent(account, workOf(address).costNano!);
        const poor = await gateway.createAccount({ balanceYuan: '0' });
        assertRefusal(await askAddress(gateway.url, address, poor.key), 'messages', {
          status: 402,
          code: 'insufficient_balance',
          type: 'billing_error',
        });
      }
    });

    it('4 server.messagesContext: balance does not use a plan at POST /altproto/v1/messages', async () => {
      const subscriber = await createSubscriber(gateway, 'roomy');
      const address = find('/altproto/v1/messages');
      for (const body of [workOf(address).body!, streamed(address)]) {
        assert.equal((await askAddress(gateway.url, address, subscriber.key, { body })).status, 200);
      }
      await assertPlanUse(gateway, subscriber, { calls: 0, tokens: 0 });
      await assertSpent(subscriber, 2n * workOf(address).costNano!);
      const poor = await gateway.createAccount({ balanceYuan: '0' });
      await subscribe(gateway, poor, 'roomy');
      const refused = await askAddress(gateway.url, address, poor.key);
      assert.equal(refused.headers['x-error-code'], 'insufficient_balance');
    });

    it('4 server.messagesContext moves nothing else: with a plan the other coding addresses are counted, and cost nothing', async () => {
      const subscriber = await createSubscriber(gateway, 'roomy');
      let tokens = 0;
      const others = addresses.filter(({ context, path }) => context === 'coding' && path !== '/altproto/v1/messages');
      for (const address of others) {
        assert.equal((await askAddress(gateway.url, address, subscriber.key)).status, 200);
        tokens += workOf(address).tokens!;
      }
      assert.equal(others.length, 6);
      await assertCounted(gateway, subscriber, { calls: 6, tokens });
    });

    it('4 server.messagesContext changes nothing else: the estimate keeps the Coding input byte limit', async () => {
      const account = await gateway.createAccount();
      const address = find('/altproto/v1/messages/count_tokens');
      const body = padded(workOf(address).body!, 32 * 1024 + 1);
      const response = await askAddress(gateway.url, address, account.key, { body });
      assert.equal(response.headers['x-error-code'], 'package_input_too_large');
    });

    it('4 server.messagesContext moves nothing else: the other coding addresses stay Coding Plan', async () => {
      const account = await gateway.createAccount();
      const asked = gateway.provider.requests.length;
      for (const address of addresses) {
        if (address.context !== 'coding' || address.path === '/altproto/v1/messages') continue;
        const response = await askAddress(gateway.url, address, account.key);
        assertRefusal(response, address.envelope, noPlan(workOf(address).codingStatus!));
      }
      assert.equal(gateway.provider.requests.length, asked);
      await assertSpent(account, 0n);
      const snapshot = await askAddress(gateway.url, find('/altproto/user/balance'), account.key);
      assert.equal(snapshot.json.unit, 'calls');
    });

    it('4 server.messagesContext leaves the addresses of the balance as they are', async () => {
      for (const address of addresses.filter(({ context }) => context === 'balance')) {
        const account = await gateway.createAccount();
        assert.equal((await askAddress(gateway.url, address, account.key)).status, 200);
        await assertSpent(account, workOf(address).costNano!);
      }
    });

    it('4 the catalog lists messages once, at /v1/messages, whatever the context of /altproto/v1/messages', async () => {
      const { json } = await askFor(gateway.url, '/v1/public/models');
      const { apiInterfaces } = json.models.find(({ modelId }: { modelId: string }) => modelId === 'test-messages');
      assert.deepEqual(apiInterfaces, [
        {
          id: 'ALT_MESSAGES',
          operations: [{ id: 'ALT_MESSAGES_CREATE', method: 'POST', path: '/v1/messages' }],
        },
      ]);
    });
  });
});
