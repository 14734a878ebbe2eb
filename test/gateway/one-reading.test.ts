import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertUntouched, balanceAddresses, type CallAddress, requestTo } from '../conformance/calls.ts';
import { type Answer, call } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

/**
 * What the gateway reads of a request, the provider reads too: a request that two readers understand differently is
 * refused, and costs nothing. Otherwise a cheap reading would be paid, and a dear one served.
 */

/** Members that a reader which ignores case, underscores or what follows a NUL takes for one that decides the cost. */
const lookalikes: readonly [json: string, param: string][] = [
  ['"Model":"x"', 'model'],
  ['"MODEL":"x"', 'model'],
  ['"mod\\u0065l\\u0000":"x"', 'model'],
  ['"Stream":true', 'stream'],
  ['"\u017ftream":true', 'stream'],
  ['"\\u017ftream":true', 'stream'],
  ['"max_to\u212aens":100000', 'max_tokens'],
  ['"maxTokens":100000', 'max_tokens'],
  ['"Max_Completion_Tokens":100000', 'max_completion_tokens'],
  ['"MAX_OUTPUT_TOKENS":100000', 'max_output_tokens'],
  ['"N":50', 'n'],
  ['"Best_Of":50', 'best_of'],
  ['"Service_Tier":"priority"', 'service_tier'],
  ['"Quality":"high"', 'quality'],
  ['"\u017fize":"4096x4096"', 'size'],
  ['"Tools":[]', 'tools'],
];

describe('one reading of JSON', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway();
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());

  const withMember = (address: CallAddress, json: string, isFirst: boolean): string => {
    const members = JSON.stringify(requestTo(address)).slice(1, -1);
    return isFirst ? `{${json},${members}}` : `{${members},${json}}`;
  };

  function assertRefused(answer: Answer, family: 'chat' | 'messages', param: string): void {
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.json.error.type, 'invalid_request_error');
    if (family === 'chat') assert.equal(answer.json.error.param, param);
    assert.match(answer.json.error.message, new RegExp(`"${param}"`));
  }

  const addresses = balanceAddresses.filter(({ path }) => path !== '/v1/images/edits');
  for (const address of addresses) {
    test(`${address.path} refuses a second spelling of what decides the cost, before and behind it`, async () => {
      for (const [json, param] of lookalikes) {
        await assertUntouched(gateway, account, async () => {
          for (const isFirst of [true, false]) {
            const answer = await call(gateway.url + address.path, account.key, withMember(address, json, isFirst));
            assertRefused(answer, address.family, param);
          }
        });
      }
    });
  }

  test('/v1/chat/completions refuses a second spelling of the request for usage', async () => {
    const body = {
      model: 'test-chat',
      messages: [],
      stream: true,
      stream_options: { include_usage: true, Include_Usage: false },
    };
    await assertUntouched(gateway, account, async () => {
      const answer = await call(`${gateway.url}/v1/chat/completions`, account.key, body);
      assertRefused(answer, 'chat', 'stream_options.include_usage');
    });
  });

  for (const type of [
    "application/json; charset*=UTF-8''utf-16",
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; charset=utf-16',
    'application/json; charset*0=utf-16',
  ]) {
    test(`the content type ${type} is refused`, async () => {
      const [address] = addresses;
      await assertUntouched(gateway, account, async () => {
        const answer = await call(gateway.url + address!.path, account.key, requestTo(address!), {
          headers: { 'content-type': type },
        });
        assert.equal(answer.status, 415);
      });
    });
  }
});
