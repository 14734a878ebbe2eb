import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ClientResponse, call } from '../support/client.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, chatResponse, type ScriptedProvider } from '../support/provider.ts';
import { inFullRunsOnly } from '../support/scope.ts';
import { assertRefused, CODING_CHAT, createSubscriber, plansText } from './coding.ts';
import { onTwoNodes } from './two-nodes.ts';

/** The token quota of a plan is reserved like money: concurrent calls cannot use it several times over. */

const CALLS = 50;
const QUOTA = 1_000_000;
/** The output that a call asks for. With its input it reserves a little more, so three calls fit, and a fourth is admitted on the rest. */
const OUTPUT = 300_000;
const ADMITTED = 4;

const plans = plansText({ reserved: { quotaTokens: QUOTA, outputTokenLimit: OUTPUT } });
const body = { model: 'test-both', max_tokens: OUTPUT, messages: [{ role: 'user', content: 'Hello' }] };

/** Does not respond until the expected number of calls has arrived, then responds to all of them. */
function gate(provider: ScriptedProvider, used: number): () => void {
  const opened = Promise.withResolvers<void>();
  const usage = { prompt_tokens: 10, completion_tokens: used - 10, total_tokens: used };
  provider.respond = async (_request, response) => {
    await opened.promise;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(chatCompletion(usage)));
  };
  return opened.resolve;
}

/** Sends all at once; opens the gate once every call is either at the provider or refused. */
async function race(
  provider: ScriptedProvider,
  urls: readonly string[],
  key: string,
  used: number,
): Promise<{ responses: ClientResponse[]; served: number }> {
  const open = gate(provider, used);
  const before = provider.requests.length;
  let refused = 0;
  const opensWhenAllAreThere = (): void => {
    if (refused + provider.requests.length - before === CALLS) open();
  };
  const running = Array.from({ length: CALLS }, async (_, n) => {
    const response = await call(urls[n % urls.length]! + CODING_CHAT, key, body);
    if (response.status !== 200) {
      refused++;
      opensWhenAllAreThere();
    }
    return response;
  });
  const arrivals = Array.from({ length: CALLS }, (_, n) =>
    provider.received(before + n + 1).then(opensWhenAllAreThere),
  );
  const responses = await Promise.all(running);
  void arrivals;
  return { responses, served: provider.requests.length - before };
}

function assertRace({ responses, served }: { responses: ClientResponse[]; served: number }): void {
  const refused = responses.filter(({ status }) => status !== 200);
  assert.equal(served, ADMITTED);
  assert.equal(refused.length, CALLS - ADMITTED);
  for (const response of refused) assertRefused(response, 429, 'package_concurrency_limited');
}

describe(`the token quota of ${CALLS} calls at once`, { timeout: 240_000 }, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ plans });
  });
  after(() => gateway?.stop());

  it('is reserved by each of them until its end, and then used by the reported tokens', async () => {
    const subscriber = await createSubscriber(gateway, 'reserved');
    assertRace(await race(gateway.provider, [gateway.url], subscriber.key, 1_000));
    assert.equal((await subscriber.used()).tokens, ADMITTED * 1_000);
    // What they did not use is available again.
    assertRace(await race(gateway.provider, [gateway.url], subscriber.key, OUTPUT));
    assert.equal((await subscriber.used()).tokens, ADMITTED * (1_000 + OUTPUT));
    assertRefused(await call(gateway.url + CODING_CHAT, subscriber.key, body), 402, 'insufficient_package');
  });

  it('counts what a request multiplies', async () => {
    gateway.provider.respond = chatResponse();
    const subscriber = await createSubscriber(gateway, 'reserved');
    const send = (more: object): Promise<ClientResponse> =>
      call(gateway.url + CODING_CHAT, subscriber.key, { ...body, max_tokens: OUTPUT / 2, ...more });
    for (const more of [
      { n: 3 },
      { best_of: 3 },
      { thinking_budget: OUTPUT },
      { max_completion_tokens: OUTPUT + 1 },
      { max_tokens: null, n: 100 },
    ]) {
      assertRefused(await send(more), 400, 'package_output_limit_exceeded');
    }
    for (const more of [{ n: 2 }, { best_of: 2 }, { thinking_budget: OUTPUT / 2 }, { max_tokens: 0 }]) {
      assert.equal((await send(more)).status, 200, JSON.stringify(more));
    }
  });
});

// A race on two processes is in `test/plans/races.test.ts` in each run.
describe(`the token quota of ${CALLS} calls at once on two processes`, {
  timeout: 240_000,
  skip: inFullRunsOnly,
}, () => {
  it('is reserved by each of them until its end', () =>
    onTwoNodes(plans, 'reserved', async ({ provider, urls, key }) => {
      assertRace(await race(provider, urls, key, 1_000));
    }));
});
