import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { startCall } from '../support/client.ts';
import { families, requestOf } from '../support/families.ts';
import { PRICE, startGateway, type TestGateway } from '../support/gateway.ts';
import { json, type ScriptedProvider, startProvider } from '../support/provider.ts';

/** Streams of models with `keepAlive` whose calls fail. */

const COMMENT = ': keep-alive\n\n';
const [chat] = families;

describe('a stream that a comment can open', { timeout: 60_000 }, () => {
  let gateway: TestGateway;
  let faulty: ScriptedProvider;
  const silent: ServerResponse[] = [];

  before(async () => {
    faulty = await startProvider();
    faulty.respond = json(503, { error: { message: 'Overloaded.' } });
    const model = (provider: string): string =>
      `{ operations: [chat], price: ${PRICE}, keepAlive: { before: 200ms }, routes: [{ provider: ${provider}, model: m }] }`;
    gateway = await startGateway({
      providers: `
  faulty: { protocol: chat, baseUrl: "${faulty.url}/v1", apiKey: faulty-secret-key-1 }`,
      models: `
  failing: ${model('faulty')}
  silent: ${model('chatty')}`,
    });
    gateway.provider.respond = (_request, response) => void silent.push(response);
  });
  after(async () => {
    for (const response of silent) response.destroy();
    await gateway?.stop();
    await faulty?.close();
  });

  it('has the status of its record if the end of the failed call takes long', async () => {
    const [account, other] = [await gateway.createAccount(), await gateway.createAccount()];
    const ends = gateway.observed.statement('settlement.end');
    const { asked } = ends;
    const send = (key: string, model: string) => startCall(gateway.url + chat!.path, key, requestOf(true, model));
    ends.hold();
    try {
      const failing = send(account.key, 'failing');
      await ends.reached(asked + 1);
      // A stream that began later was silent for long enough.
      await (await send(other.key, 'silent').response).until(COMMENT);
      ends.release();
      const response = await failing.response;
      await response.ended();
      assert.equal((await account.endedCall()).httpStatus, response.status);
    } finally {
      ends.release();
    }
  });
});
