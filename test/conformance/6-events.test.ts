import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ClientResponse, call } from '../support/client.ts';
import { assertSpent, costNano, type TestGateway } from '../support/gateway.ts';
import { chatStream, event, messagesStream, sse } from '../support/provider.ts';
import {
  completedEvent,
  EDITS,
  editForm,
  formType,
  GENERATIONS,
  imageEvent,
  PRICED_BY_TOKEN,
  partialEvent,
  STREAM_USAGE_NANO,
  type StreamKind,
  startImageGateway,
} from './images.ts';
import { notTestable } from './rule.ts';

describe('6 Events', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startImageGateway();
  });
  after(() => gateway.stop());

  const addresses = { image_generation: GENERATIONS, image_edit: EDITS } as const;

  function sendImage(key: string, kind: StreamKind): Promise<ClientResponse> {
    const model = PRICED_BY_TOKEN;
    return kind === 'image_generation'
      ? call(gateway.url + GENERATIONS, key, { model, prompt: 'A boat', stream: true, partial_images: 2 })
      : call(gateway.url + EDITS, key, editForm({ model, stream: 'true', partial_images: '2' }), {
          headers: { 'content-type': formType() },
        });
  }

  /** A client's view of a stream: names of events, and their data as JSON. */
  function eventsOf(stream: string): { name: string; data: { type: string } }[] {
    assert.ok(stream.endsWith('\n\n'), stream);
    return stream
      .slice(0, -2)
      .split('\n\n')
      .map((each) => {
        const [, name, data] = /^event: (\S+)\ndata: (.*)$/.exec(each) ?? [];
        assert.ok(name !== undefined && data !== undefined, each);
        return { name, data: JSON.parse(data) };
      });
  }

  for (const kind of ['image_generation', 'image_edit'] as const) {
    it(`6 ${addresses[kind]} emits ${kind}.partial_image, ${kind}.completed and error, each as event and data lines`, async () => {
      const account = await gateway.createAccount();
      const error = imageEvent('error', {
        error: { message: 'No.', type: 'server_error', code: 'failed', param: null },
      });
      for (const events of [
        [partialEvent(kind), partialEvent(kind, 1), completedEvent(kind)],
        [partialEvent(kind), error],
      ]) {
        gateway.provider.respond = sse(events);
        const response = await sendImage(account.key, kind);
        assert.equal(response.text, events.join(''));
        const names = eventsOf(response.text).map(({ name }) => name);
        assert.deepEqual(names.at(-1), events.length === 3 ? `${kind}.completed` : 'error');
      }
      await assertSpent(account, STREAM_USAGE_NANO);
    });

    it(`6 ${addresses[kind]}: each data object has a type equal to the name of its event, including the gateway's own error`, async () => {
      const account = await gateway.createAccount();
      gateway.provider.respond = sse([partialEvent(kind), partialEvent(kind, 1)]);
      const response = await sendImage(account.key, kind);
      const events = eventsOf(response.text);
      assert.deepEqual(
        events.map(({ name }) => name),
        [`${kind}.partial_image`, `${kind}.partial_image`, 'error'],
      );
      for (const { name, data } of events) assert.equal(data.type, name);
      await assertSpent(account, 0n);
    });

    it(`6 ${addresses[kind]}: unknown events, comments and other spellings pass`, async () => {
      const account = await gateway.createAccount();
      const others = [': keep-alive\n\n', event(`${kind}.queued`, { position: 1 }), 'id: 7\nretry: 10\ndata: {}\n\n'];
      const stream = [...others, partialEvent(kind).replaceAll('\n', '\r\n'), completedEvent(kind)];
      gateway.provider.respond = sse(stream);
      assert.equal((await sendImage(account.key, kind)).text, stream.join(''));
      await assertSpent(account, STREAM_USAGE_NANO);
    });
  }

  it('6 chat streams are the text/event-stream of the provider, byte for byte, whatever its events', async () => {
    const account = await gateway.createAccount();
    const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
    const [first, ...rest] = chatStream(['Hello', ' 船'], usage);
    const stream = [first!, ': ping\n\n', 'event: odd\ndata: {"choices":[],"new":1.0}\r\n\r\n', ...rest];
    gateway.provider.respond = sse(stream, { 'content-type': 'text/event-stream; charset=utf-8' });
    const body = { model: 'test-chat', messages: [], stream: true, stream_options: { include_usage: true } };
    const response = await call(`${gateway.url}/v1/chat/completions`, account.key, body);
    assert.equal(response.status, 200);
    assert.equal(response.headers['content-type'], 'text/event-stream; charset=utf-8');
    assert.equal(response.text, stream.join(''));
    await assertSpent(account, costNano({ input: 11, output: 7 }));
  });

  it('6 messages streams are the text/event-stream of the provider, byte for byte, whatever its events', async () => {
    const account = await gateway.createAccount();
    const [first, ...rest] = messagesStream(['Hello', ' 船'], { input_tokens: 11, output_tokens: 7 });
    const stream = [first!, ': comment\n\n', event('odd_event', { new: [1, { a: null }] }), ...rest];
    gateway.provider.respond = sse(stream);
    const body = { model: 'test-messages', max_tokens: 50, messages: [], stream: true };
    const response = await call(`${gateway.url}/v1/messages`, account.key, body);
    assert.equal(response.status, 200);
    assert.match(response.headers['content-type']!, /^text\/event-stream/);
    assert.equal(response.text, stream.join(''));
    await assertSpent(account, costNano({ input: 11, output: 7 }));
  });

  it('6 events leave as they come: no stream is held back, compressed or cached on its way', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = sse([completedEvent('image_generation')]);
    const body = { model: PRICED_BY_TOKEN, prompt: 'A boat', stream: true };
    const headers = { 'accept-encoding': 'gzip, br, zstd' };
    const response = await call(gateway.url + GENERATIONS, account.key, body, { headers });
    assert.equal(response.headers['content-encoding'], undefined);
    assert.equal(response.headers['content-length'], undefined);
    assert.equal(response.headers['cache-control'], 'no-cache');
    assert.equal(response.headers['x-accel-buffering'], 'no');
    assert.equal(gateway.provider.requests.at(-1)!.headers['accept-encoding'], 'identity');
    await assertSpent(account, STREAM_USAGE_NANO);
  });

  notTestable('6 webhooks and other asynchronous notifications', 'the contract does not describe any');
  notTestable(
    '6 the event names of chat and messages streams',
    'they are the provider’s; the contract does not show them',
  );
});
