import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertBrokenOff, assertError, families, modesOf, requestOf } from '../support/families.ts';
import { assertSpent, costNano, type TestAccount } from '../support/gateway.ts';
import { type Behaviour, chunks, responseBytes } from '../support/hostile-provider.ts';
import { ask, assertNamesNoProvider, type HostileScene, modelOf, relayedStream, setScene } from './scene.ts';

/** Usage that costs more than a column can store, so that the database refuses the settlement. */

/** The highest plausible number of tokens. */
const TOKENS = 2_147_483_647;
/** The greatest of a stream's figures counts, so that no event may report more than one input token. */
const withoutInput = (text: string): string => text.replace(/"(prompt_tokens|input_tokens)":11\b/g, '"$1":1');
/** The maximum of a money column, in nano-yuan. */
const AMOUNT_MAX = 2n ** 63n - 1n;

describe(`settlements that the database refuses`, () => {
  let scene: HostileScene;
  before(async () => {
    const priced = (name: string, yuanPerMillion: string): string =>
      modelOf(
        name,
        ['hostile'],
        `{ input: "${yuanPerMillion}", imageInput: "1", output: "${yuanPerMillion}", imageOutput: "1" }`,
        // All plausible tokens are charged (docs/reservations.md).
        `maxOutputTokens: "${TOKENS}",`,
      );
    // Ten yuan per token, four yuan per token, and a thousand million if a reservation is limited to a million.
    scene = await setScene({
      models: priced('dear', '10000000') + priced('half-dear', '4000000') + priced('unaffordable', '999999999999999'),
    });
  });
  after(() => scene?.close());

  for (const family of families) {
    for (const { kind, isStream } of modesOf(family)) {
      describe(`${family.name}, ${kind}`, () => {
        const usage = (outputTokens: number): object =>
          family.name === 'chat'
            ? { prompt_tokens: 1, completion_tokens: outputTokens }
            : { input_tokens: 1, output_tokens: outputTokens };
        const usageEvent = (outputTokens: number): string =>
          family.name === 'chat'
            ? `data: ${JSON.stringify({ choices: [], usage: usage(outputTokens) })}\n\n`
            : `event: message_delta\ndata: ${JSON.stringify({ type: 'message_delta', delta: {}, usage: usage(outputTokens) })}\n\n`;
        const reporting = (outputTokens: number): Buffer => {
          const events = family.stream(['Hello']).map(withoutInput);
          const stream = [...events.slice(0, -1), usageEvent(outputTokens), family.terminal];
          return isStream
            ? responseBytes({
                headers: ['content-type: text/event-stream', 'transfer-encoding: chunked'],
                body: chunks(stream),
              })
            : responseBytes({
                headers: ['content-type: application/json', 'transfer-encoding: chunked'],
                body: chunks([JSON.stringify(family.whole(usage(outputTokens)))]),
              });
        };
        const send = (key: string, model: string) =>
          ask(scene.gateway.url, family.path, key, requestOf(isStream, model));

        test('a charge that no column can store: the success is withheld, nothing is charged, no reservation is left', async () => {
          const { gateway, hostile } = scene;
          const account = await gateway.createAccount();
          const ends = gateway.observed.statement('settlement.end');
          hostile.behave = reportingAlways(reporting(TOKENS));
          const { asked } = ends;
          const response = await send(account.key, 'dear');
          assertNamesNoProvider(response, hostile);
          if (isStream) {
            const relayed = withoutInput(relayedStream(family, ['Hello'])).slice(0, -family.terminal.length);
            assert.ok(response.text.startsWith(relayed), response.text);
            assert.ok(!response.text.includes(family.terminal));
            const rest = family.name === 'chat' ? relayed : relayed + usageEvent(TOKENS);
            assertBrokenOff(response, family, rest, 'internal_error');
          } else {
            assertError(response, family, { status: 500, code: 'internal_error', retry: 'false' });
          }
          // A retry would fail again: the refused charge is followed by an end without one.
          assert.equal(ends.asked - asked, 2);
          await assertWithheld(account);
          await assertSpent(account, 0n);
        });

        test('calls that are settled concurrently are not affected', async () => {
          const { gateway, hostile } = scene;
          const [account, refused] = [await gateway.createAccount(), await gateway.createAccount()];
          const ends = gateway.observed.statement('settlement.end');
          const { asked } = ends;
          const arrived = Promise.withResolvers<void>();
          let calls = 0;
          hostile.behave = async (connection) => {
            const { body } = await connection.request();
            await connection.send(reporting(body.includes('"overflows":true') ? TOKENS : 7));
            if (++calls === 4) arrived.resolve();
          };
          const sendOne = ({ key }: TestAccount, model: string, overflows: boolean) =>
            ask(gateway.url, family.path, key, { ...requestOf(isStream, model), overflows });
          ends.hold();
          // The first one is being stored, the others queue.
          const first = sendOne(account, 'hostile', false);
          await ends.reached(asked + 1);
          const others = [
            sendOne(account, 'hostile', false),
            sendOne(refused, 'dear', true),
            sendOne(account, 'hostile', false),
          ];
          await arrived.promise;
          await (await fetch(`${gateway.url}/healthz`)).text();
          ends.release();
          const responses = await Promise.all([first, ...others]);
          const succeeded = responses.map(
            (response) => response.status === 200 && !response.text.includes('internal_error'),
          );
          assert.deepEqual(succeeded, [true, true, false, true]);
          await assertSpent(account, 3n * costNano({ input: 1, output: 7 }));
          await assertWithheld(refused);
          await assertSpent(refused, 0n);
        });

        test('charges that fit one by one, but not together: the second is withheld', async () => {
          const { gateway, hostile } = scene;
          const account = await gateway.createAccount({ balanceYuan: '10000' });
          const both = Promise.withResolvers<void>();
          let asked = 0;
          hostile.behave = async (connection) => {
            await connection.request();
            if (++asked === 2) both.resolve();
            await both.promise;
            await connection.send(reporting(TOKENS));
          };
          const responses = await Promise.all([send(account.key, 'half-dear'), send(account.key, 'half-dear')]);
          const withheld = responses.filter(({ text }) => text.includes('internal_error'));
          assert.equal(withheld.length, 1);
          const { body } = await gateway.admin('GET', `/calls?accountId=${account.id}`);
          const statuses = body.data.map(({ status }: { status: string }) => status);
          assert.deepEqual(statuses.sort(), ['failed', 'succeeded']);
          const charge = BigInt(TOKENS + 1) * 4_000_000_000n;
          assert.ok(charge < AMOUNT_MAX && 2n * charge > AMOUNT_MAX);
          const balanceNano = 10_000_000_000_000n - charge;
          assert.deepEqual(await account.money(), { balanceNano, heldNano: 0n });
        });

        test('a price above the limit of reservations: the reservation is limited, and the full price is charged', async () => {
          const { gateway, hostile } = scene;
          const account = await gateway.createAccount();
          hostile.behave = reportingAlways(reporting(7));
          const response = await send(account.key, 'unaffordable');
          assert.equal(response.status, 200);
          // One token of input and seven of output.
          const charge = 8n * 999_999_999_999_999_000n;
          assert.deepEqual(await account.money(), { balanceNano: 100_000_000_000n - charge, heldNano: 0n });
        });
      });
    }
  }

  test('a call whose charge is refused is recorded as failed before its client gets the error', async () => {
    const [chat] = families;
    const { gateway, hostile } = scene;
    const account = await gateway.createAccount();
    const body = JSON.stringify(chat!.whole({ prompt_tokens: 1, completion_tokens: TOKENS }));
    hostile.behave = reportingAlways(
      responseBytes({ headers: ['content-type: application/json', `content-length: ${body.length}`], body }),
    );
    const response = await ask(gateway.url, chat!.path, account.key, requestOf(false, 'dear'));
    const { id, model, route, requestId } = await assertWithheld(account);
    assert.equal(id, response.headers['x-faregate-call-id']);
    assert.deepEqual([model, route.provider, requestId], ['dear', 'hostile-chat', response.headers['request-id']]);
  });
});

/** Asserts that the newest call is recorded as an internal failure without charge; returns the record. */
async function assertWithheld(account: TestAccount) {
  const record = await account.lastCall();
  assert.deepEqual(
    [record?.status, record.httpStatus, record.errorCode, record.usage, record.chargeYuan],
    ['failed', 500, 'internal_error', null, null],
  );
  return record;
}

function reportingAlways(bytes: Buffer): Behaviour {
  return async (connection) => {
    await connection.request();
    await connection.send(bytes);
  };
}
