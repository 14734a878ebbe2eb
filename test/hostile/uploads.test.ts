import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { editForm, file, formType, imagesBody, png, text, USAGE_NANO } from '../conformance/images.ts';
import { families, requestOf } from '../support/families.ts';
import { assertSpent } from '../support/gateway.ts';
import { type Behaviour, type HostileConnection, responseBytes } from '../support/hostile-provider.ts';
import {
  assertFailed,
  assertServed,
  BROKEN,
  type HostileCall,
  type HostileScene,
  jsonBytes,
  setScene,
  success,
  successBody,
  tooLate,
} from './scene.ts';

/** A provider that responds, disconnects or stops reading while a large request is being sent to it. */

/** More than the network buffers. */
const LARGE_BYTES = 16 * 2 ** 20;

describe('large requests', () => {
  let scene: HostileScene;
  before(async () => {
    scene = await setScene();
  });
  after(() => scene?.close());

  /** Reads the head of the request and nothing of its body. */
  const afterHead =
    (then: (connection: HostileConnection) => Promise<void> | void): Behaviour =>
    async (connection) => {
      await connection.head();
      await then(connection);
    };

  const sendAndLeave = (bytes: Buffer): Behaviour =>
    afterHead(async (connection) => {
      await connection.send(bytes);
      connection.fin();
    });
  const refusalOf = (status: number): Buffer =>
    responseBytes({
      status,
      headers: ['content-length: 36', 'connection: close'],
      body: '{"error":{"message":"No.","code":1}}',
    });

  // The same code sends the other two, and tests with small requests cover how it handles their ends.
  for (const [family, isStream] of [
    [families[0]!, false],
    [families[1]!, true],
  ] as const) {
    describe(`${family.name}, ${isStream ? 'stream' : 'whole'}`, () => {
      const large = (provider: string): Buffer =>
        Buffer.from(
          JSON.stringify({
            ...requestOf(isStream, provider),
            messages: [{ role: 'user', content: 'x'.repeat(LARGE_BYTES) }],
          }),
        );
      const call = (behaviour: Behaviour, provider = 'hostile'): HostileCall => ({
        behaviour,
        path: family.path,
        protocol: family.name,
        body: large(provider),
        provider,
      });
      test('a response before the request has been read is accepted, and its connection serves no other call', async () => {
        const behaviour = afterHead((connection) =>
          connection.send(success(family, isStream)).then(() => connection.closed),
        );
        const served = { body: successBody(family, isStream), costNano: family.cost };
        await assertServed(await scene.send(call(behaviour)), served);
        const { connections } = scene.hostile;
        await assertServed(await scene.send(call(behaviour)), served);
        assert.equal(scene.hostile.connections, connections + 1);
      });

      for (const status of [422, 413]) {
        test(`a ${status} before the request has been read is passed on`, async () => {
          const { response, account, reported } = await scene.send(call(sendAndLeave(refusalOf(status))));
          assert.equal(response.status, status);
          assert.equal(response.json.error.message, 'No.');
          assert.equal(reported, 'it responds');
          await assertSpent(account, 0n);
        });
      }

      test('a connection that is closed meanwhile: a 502 that must not be retried, and nothing is charged', async () => {
        const ended = await scene.send(call(afterHead((connection) => connection.fin())));
        await assertFailed(ended, family, BROKEN);
      });

      test('a connection that is reset meanwhile: a 502 that must not be retried, and nothing is charged', async () => {
        const ended = await scene.send(call(afterHead((connection) => connection.reset())));
        await assertFailed(ended, family, BROKEN);
      });

      test('a provider that stops reading it: a 504, and nothing is charged', async () => {
        const ended = await scene.send(
          call(
            afterHead(({ closed }) => closed),
            'drowsy',
          ),
        );
        await assertFailed(ended, family, tooLate(family));
      });
    });
  }

  describe('image edits', () => {
    const form = editForm({ model: 'hostile' }, [
      file('image', png(64, 64, LARGE_BYTES)),
      text('prompt', 'Add a boat'),
    ]);
    const [chat] = families;
    const call = (behaviour: Behaviour): HostileCall => ({
      behaviour,
      path: '/v1/images/edits',
      protocol: 'chat',
      body: form,
      headers: [['content-type', formType()]],
    });

    test('a response before the upload has been read is accepted', async () => {
      const body = JSON.stringify(imagesBody());
      const bytes = jsonBytes(200, body);
      const behaviour = afterHead((connection) => connection.send(bytes).then(() => connection.closed));
      await assertServed(await scene.send(call(behaviour)), { body, costNano: USAGE_NANO });
    });

    test('a 413 before the upload has been read is passed on', async () => {
      const { response, account } = await scene.send(call(sendAndLeave(refusalOf(413))));
      assert.equal(response.status, 413);
      await assertSpent(account, 0n);
    });

    test('a connection that is reset meanwhile: a 502 that must not be retried, and nothing is charged', async () => {
      const ended = await scene.send(call(afterHead((connection) => connection.reset())));
      await assertFailed(ended, chat!, BROKEN);
    });
  });
});
