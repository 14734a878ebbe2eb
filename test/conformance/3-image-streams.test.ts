import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ClientResponse, startCall } from '../support/client.ts';
import { assertSpent, clientLeaves, type TestGateway } from '../support/gateway.ts';
import { liveResponse, sse } from '../support/provider.ts';
import {
  completedEvent,
  EDITS,
  editForm,
  formType,
  GENERATIONS,
  ImageCaller,
  imageEvent,
  imageNano,
  PRICED_BY_IMAGE,
  PRICED_BY_TOKEN,
  partialEvent,
  STREAM_USAGE_NANO,
  type StreamKind,
  startImageGateway,
  streamUsage,
} from './images.ts';

const kinds: readonly StreamKind[] = ['image_generation', 'image_edit'];

/** The gateway's own error event at the end of a stream. */
const ERROR_EVENT = /\n\nevent: error\ndata: (\{.*\})\n\n$/;

describe('3 Streaming image calls', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startImageGateway();
  });
  after(() => gateway.stop());

  /** Starts a streaming call for images that are charged by tokens. */
  function start(caller: ImageCaller, kind: StreamKind, rest: Record<string, unknown> = {}) {
    const fields = { model: PRICED_BY_TOKEN, stream: true, ...rest };
    const texts = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]));
    const [path, type, body] =
      kind === 'image_generation'
        ? [GENERATIONS, 'application/json', JSON.stringify({ ...fields, prompt: 'A boat' })]
        : [EDITS, formType(), editForm(texts)];
    return startCall(gateway.url + path, caller.account.key, body, { headers: { 'content-type': type } });
  }

  async function send(caller: ImageCaller, kind: StreamKind, rest?: Record<string, unknown>): Promise<ClientResponse> {
    const response = await start(caller, kind, rest).response;
    assert.equal(await response.ended(), true);
    return response;
  }

  /** Asserts that the provider's stream arrives byte for byte and is charged this amount. */
  async function assertRelayed(
    kind: StreamKind,
    events: readonly string[],
    costNano: bigint,
    rest: Record<string, unknown> = {},
  ) {
    const caller = await ImageCaller.create(gateway);
    gateway.provider.respond = sse(events);
    const response = send(caller, kind, rest);
    await caller.taken(response, costNano);
    assert.equal((await response).text, events.join(''));
  }

  /** Asserts that the stream arrives up to `relayed`, followed by the gateway's own error event. */
  function assertBrokenOff(stream: string, relayed: string, code = 'upstream_error') {
    assert.ok(stream.startsWith(relayed), stream.slice(0, 500));
    const [, data] = ERROR_EVENT.exec(`\n\n${stream.slice(relayed.length)}`) ?? [];
    assert.ok(data !== undefined, stream.slice(-500));
    const { type, error, ...named } = JSON.parse(data);
    assert.equal(type, 'error');
    assert.deepEqual(named, { code: error.code, message: error.message, param: error.param });
    assert.deepEqual([error.code, error.type, error.param], [code, 'api_error', null]);
  }

  for (const kind of kinds) {
    const partials = [0, 1, 2].map((index) => partialEvent(kind, index));

    it(`3 ${kind}: a stream relays every partial_image event byte for byte, and is charged by its usage`, async () => {
      for (const count of [0, 1, 3]) {
        const events = [...partials.slice(0, count), completedEvent(kind)];
        await assertRelayed(kind, events, STREAM_USAGE_NANO, { partial_images: count });
      }
    });

    it(`3 ${kind}: completed is the normal end, and carries the usage that is charged`, async () => {
      const used = { ...streamUsage, input_tokens: 1_020, output_tokens: 7, total_tokens: 1_027 };
      used.input_tokens_details = { text_tokens: 1_000, image_tokens: 20 };
      const nano = 1_000n * 3_000n + 20n * 17_000n + 7n * 19_000n;
      await assertRelayed(kind, [partials[0]!, completedEvent(kind, { usage: used })], nano);
    });

    it(`3 ${kind}: a stream is charged once, however its events are cut and spelt on the way`, async () => {
      const text = `: ping\n\n${partials[0]}${completedEvent(kind)}`.replaceAll('\n', '\r\n');
      const pieces = Array.from({ length: Math.ceil(text.length / 7) }, (_, i) => text.slice(7 * i, 7 * i + 7));
      await assertRelayed(kind, pieces, STREAM_USAGE_NANO);
      const unnamed = completedEvent(kind).replace(/^event: .*\n/, '');
      await assertRelayed(kind, [partials[1]!.replace('event: ', 'event:'), unnamed], STREAM_USAGE_NANO);
    });

    it(`3 ${kind}: a completed event that comes before a partial image still counts, once`, async () => {
      await assertRelayed(kind, [completedEvent(kind), partials[0]!], STREAM_USAGE_NANO, { partial_images: 1 });
    });

    it(`3 ${kind}: images of several megabytes pass in partial and completed events`, async () => {
      const large = 'iVBORw0KGgo+'.repeat(262_144);
      const events = [
        partialEvent(kind, 0, large),
        partialEvent(kind, 1, large),
        completedEvent(kind, { b64_json: large }),
      ];
      await assertRelayed(kind, events, STREAM_USAGE_NANO, { partial_images: 2 });
    });

    it(`3 ${kind}: of several images every completed event is charged, and the stream may end after any`, async () => {
      const events = [partials[0]!, completedEvent(kind), completedEvent(kind), partials[1]!, completedEvent(kind)];
      await assertRelayed(kind, events, 3n * STREAM_USAGE_NANO, { n: 3 });
      await assertRelayed(kind, events.slice(0, 3), 2n * STREAM_USAGE_NANO, { n: 4 });
    });

    it(`3 ${kind}: if billing binds to images, each completed event is one, of the quality and size it names`, async () => {
      const model = PRICED_BY_IMAGE;
      const events = [
        completedEvent(kind),
        completedEvent(kind, { quality: 'low', usage: undefined }),
        completedEvent(kind, { quality: undefined, size: undefined, usage: null }),
      ];
      const nano = imageNano.high1024x1024 + imageNano.low + imageNano.highOther;
      await assertRelayed(kind, events, nano, { model, n: 3, quality: 'high', size: '1536x1024' });
    });

    it(`3 ${kind}: error is the end of the protocol: it arrives as the provider sent it, and nothing is charged`, async () => {
      const error = imageEvent('error', {
        error: { type: 'server_error', code: 'overloaded', message: 'Overloaded.' },
      });
      for (const events of [[error], [...partials, error]]) {
        const caller = await ImageCaller.create(gateway);
        gateway.provider.respond = sse(events);
        const response = await send(caller, kind, { partial_images: 3 });
        assert.equal(response.status, 200);
        assert.equal(response.text, events.join(''));
        await caller.unpaid();
        const { status, chargeYuan } = await caller.account.endedCall();
        assert.deepEqual([status, chargeYuan], ['aborted', null]);
      }
    });

    it(`3 ${kind}: an error after a completed image leaves that image charged`, async () => {
      const events = [completedEvent(kind), imageEvent('error', { error: { message: 'Overloaded.' } })];
      await assertRelayed(kind, events, STREAM_USAGE_NANO, { n: 2 });
    });

    it(`3 ${kind}: a connection that drops midway ends with an error event, and nothing is charged`, async () => {
      const caller = await ImageCaller.create(gateway);
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const started = start(caller, kind, { partial_images: 3 });
      await live.opened;
      await live.write(partials[0]!);
      const response = await started.response;
      await response.until(partials[0]!);
      live.reset();
      assert.equal(await response.ended(), true);
      assert.equal(response.status, 200);
      assertBrokenOff(response.text, partials[0]!);
      await caller.unpaid();
      const { status, chargeYuan } = await caller.account.endedCall();
      assert.deepEqual([status, chargeYuan], ['aborted', null]);
    });

    it(`3 ${kind}: only completed and error end a stream: one that stops without them ends with an error event of its own`, async () => {
      const half = completedEvent(kind).slice(0, -60);
      for (const events of [partials, [partials[0]!, 'data: [DONE]\n\n']]) {
        const caller = await ImageCaller.create(gateway);
        gateway.provider.respond = sse(events);
        const response = await send(caller, kind, { partial_images: 3 });
        assert.equal(response.status, 200);
        assertBrokenOff(response.text, events.join(''));
        await caller.unpaid();
      }
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = sse([partials[0]!, half]);
      const response = await send(caller, kind, { partial_images: 3 });
      assertBrokenOff(response.text, partials[0]!);
      await caller.unpaid();
    });

    it(`3 ${kind}: a picture is charged whatever its event is called, and if no known event ends the stream`, async () => {
      const other = completedEvent(kind === 'image_edit' ? 'image_generation' : 'image_edit');
      await assertRelayed(kind, [partials[0]!, other], STREAM_USAGE_NANO);
      const model = PRICED_BY_IMAGE;
      const look = { size: '1024x1024', quality: 'high' };
      const picture = imageEvent(`${kind}.partial_succeeded`, {
        image_index: 0,
        url: 'https://cdn.example/1',
        ...look,
      });
      const failed = imageEvent(`${kind}.partial_failed`, { image_index: 1, error: { code: 'c', message: 'm' } });
      const end = imageEvent(`${kind}.completed`, {
        usage: { generated_images: 2, output_tokens: 9, total_tokens: 9 },
      });
      const nano = imageNano.high1024x1024;
      for (const events of [
        [picture, failed, picture, end, 'data: [DONE]\n\n'],
        [failed, picture, picture],
      ]) {
        await assertRelayed(kind, events, 2n * nano, { model, n: 3 });
      }
      await assertRelayed(kind, [failed, failed, end], 0n, { model, n: 2 });
    });

    it(`3 ${kind}: pictures that were delivered cost their estimate if their tokens are not reported`, async () => {
      const picture = imageEvent(`${kind}.partial_succeeded`, { url: 'https://cdn.example/1', quality: 'low' });
      for (const end of [
        imageEvent(`${kind}.completed`, { usage: null }),
        imageEvent('error', { error: { code: 'c' } }),
      ]) {
        const caller = await ImageCaller.create(gateway);
        gateway.provider.respond = sse([picture, picture, end]);
        const response = await send(caller, kind, { n: 3 });
        assert.ok(response.text.startsWith(picture + picture));
        const { usage } = await caller.account.endedCall();
        assert.deepEqual([usage.source, usage.imageOutputTokens], ['estimated', 2 * 272]);
        const input = BigInt(usage.inputTokens) * 3_000n;
        await assertSpent(caller.account, input + 2n * 272n * 19_000n);
      }
    });

    it(`3 ${kind}: of several images those that were completed before the connection dropped are charged`, async () => {
      const caller = await ImageCaller.create(gateway);
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const started = start(caller, kind, { n: 3 });
      await live.opened;
      await live.write(completedEvent(kind));
      await live.write(partials[0]!);
      const response = await started.response;
      await response.until(partials[0]!);
      live.reset();
      assert.equal(await response.ended(), true);
      assertBrokenOff(response.text, completedEvent(kind) + partials[0]!);
      await assertSpent(caller.account, STREAM_USAGE_NANO);
    });

    it(`3 ${kind}: a completed event without usage facts fails closed, with an error event in place of it`, async () => {
      for (const used of [undefined, null, {}, { ...streamUsage, total_tokens: undefined }]) {
        const caller = await ImageCaller.create(gateway);
        gateway.provider.respond = sse([partials[0]!, completedEvent(kind, { usage: used })]);
        const response = await send(caller, kind, { partial_images: 1 });
        assert.equal(response.status, 200);
        assertBrokenOff(response.text, partials[0]!);
        assert.equal((await caller.account.endedCall()).status, 'failed');
        await caller.unpaid();
      }
    });

    it(`3 ${kind}: a completed event without usage facts that is the first event is 502`, async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = sse([completedEvent(kind, { usage: null })]);
      const response = await send(caller, kind);
      assert.deepEqual([response.status, response.json.error.code], [502, 'upstream_error']);
      await caller.unpaid();
    });

    it(`3 ${kind}: a completed event without an image fails closed if billing binds to images`, async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = sse([partials[0]!, completedEvent(kind, { b64_json: null })]);
      const response = await send(caller, kind, { model: PRICED_BY_IMAGE, partial_images: 1 });
      assertBrokenOff(response.text, partials[0]!);
      assert.equal((await caller.account.endedCall()).status, 'failed');
      await caller.unpaid();
    });

    it(`3 ${kind}: the completed event leaves only once the charge is durable`, async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = sse([partials[0]!, completedEvent(kind)]);
      const settlements = gateway.observed.statement('settlement.end');
      settlements.hold();
      const asked = settlements.asked;
      const started = start(caller, kind);
      const response = await started.response;
      await response.until(partials[0]!);
      await settlements.reached(asked + 1);
      assert.equal(response.text, partials[0]!);
      settlements.release();
      assert.equal(await response.ended(), true);
      assert.equal(response.text, partials[0]! + completedEvent(kind));
      await assertSpent(caller.account, STREAM_USAGE_NANO);
    });

    it(`3 ${kind}: a client that leaves before an image is completed pays for it, because the provider completes it`, async () => {
      const caller = await ImageCaller.create(gateway);
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const left = clientLeaves(gateway);
      const started = start(caller, kind);
      await live.opened;
      await live.write(partials[0]!);
      await (await started.response).until(partials[0]!);
      started.drop();
      await left;
      await live.write(completedEvent(kind));
      live.end();
      const { status, usage } = await caller.account.endedCall();
      assert.deepEqual([status, usage.source], ['succeeded', 'observed']);
      await assertSpent(caller.account, STREAM_USAGE_NANO);
    });
  }
});
