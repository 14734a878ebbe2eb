import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { AddressRanges, parseAddressRange } from '../../src/lib/ip-address.ts';
import type { Resolve } from '../../src/lib/outgoing/target.ts';
import type { SendResult } from '../../src/notices/send-result.ts';
import { createWebhookSender } from '../../src/notices/webhook-sender.ts';
import { CERTIFICATE } from '../support/certificate.ts';
import { type Receiver, startReceiver, status, verify } from '../support/receiver.ts';
import { startRawServer } from '../support/upstream.ts';

/** One attempt at any kind of receiver: it ends in time and reaches no private network. */

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const LOOPBACK = ['127.0.0.0/8'];
const nowhere: Resolve = async () => [];
const ignore = (): void => undefined;

interface Given {
  readonly allow?: readonly string[];
  readonly resolve?: Resolve;
  readonly deadlineMs?: number;
  readonly ca?: string;
  readonly signal?: AbortSignal;
}

function send(url: string, given: Given = {}): Promise<SendResult> {
  const { allow = LOOPBACK, resolve = nowhere, deadlineMs = 5_000, ca, signal = new AbortController().signal } = given;
  const allowed = new AddressRanges(allow.map((text) => parseAddressRange(text)!));
  const sender = createWebhookSender({ allowed: () => allowed, resolve, deadlineMs, ...(ca !== undefined && { ca }) });
  const form = 'faregate' as const;
  const notice = { noticeId: 'ntc_1', form, url, secret: SECRET, payload: '{"type":"webhook.test"}', at: new Date() };
  return sender(notice, signal);
}

function errorOf(result: SendResult): string {
  assert.equal(result.outcome, 'failed');
  return (result as Extract<SendResult, { outcome: 'failed' }>).error;
}

describe('an attempt at a webhook receiver', { timeout: 60_000 }, () => {
  let receiver: Receiver;
  let secure: Receiver;
  before(async () => {
    receiver = await startReceiver();
    secure = await startReceiver({ isTls: true });
  });
  after(async () => {
    await receiver.close();
    await secure.close();
  });
  beforeEach(() => {
    receiver.received.length = 0;
    receiver.respond = status(204);
    secure.received.length = 0;
  });

  it('is signed according to Standard Webhooks', async () => {
    assert.deepEqual(await send(`${receiver.url}?a=b`), { outcome: 'delivered', status: 204 });
    const [notice] = receiver.received;
    assert.equal(notice!.path, '/hook?a=b');
    assert.equal(notice!.headers['content-type'], 'application/json');
    assert.equal(notice!.id, 'ntc_1');
    assert.deepEqual(verify(SECRET, notice!), { type: 'webhook.test' });
    assert.throws(() => verify(`whsec_${Buffer.alloc(32, 8).toString('base64')}`, notice!));
  });

  for (const code of [200, 201, 299]) {
    it(`succeeds with ${code}`, async () => {
      receiver.respond = status(code);
      assert.deepEqual(await send(receiver.url), { outcome: 'delivered', status: code });
    });
  }

  for (const code of [400, 401, 404, 429, 500, 503]) {
    it(`fails with ${code}, and may be retried`, async () => {
      receiver.respond = status(code);
      const result = await send(receiver.url);
      assert.deepEqual(
        { ...result, error: '' },
        { outcome: 'failed', status: code, error: '', isFinal: false, isGone: false },
      );
    });
  }

  it('treats 410 as the end of the subscription', async () => {
    receiver.respond = status(410);
    const result = await send(receiver.url);
    assert.equal(result.outcome === 'failed' && result.isGone, true);
  });

  for (const code of [301, 302, 303, 307, 308]) {
    it(`follows no redirect: ${code}`, async () => {
      const inside = await startReceiver();
      try {
        receiver.respond = status(code, { location: inside.url });
        assert.match(errorOf(await send(receiver.url)), /redirect/);
        assert.equal(inside.received.length, 0);
      } finally {
        await inside.close();
      }
    });
  }

  describe('goes to public addresses only', () => {
    // `isPublicAddress` has its own tests.
    const refused: Record<string, readonly string[]> = {
      loopback: ['127.0.0.1'],
      metadata: ['169.254.169.254'],
      'a public and a private address': ['93.184.215.14', '127.0.0.1'],
    };
    for (const [what, addresses] of Object.entries(refused)) {
      it(`by name: not to ${what}`, async () => {
        const result = await send(`http://inside.example:${receiver.port}/hook`, {
          allow: [],
          resolve: async () => addresses,
        });
        assert.match(errorOf(result), /not on the public internet/);
        assert.equal(receiver.received.length, 0);
      });
    }
    const spelt = [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f.0.0.1',
      '0177.0.0.1',
      '[::1]',
      '[::ffff:7f00:1]',
      '０x7f.1',
    ];
    for (const host of spelt) {
      it(`by number: not to http://${host}`, async () => {
        assert.match(
          errorOf(await send(`http://${host}:${receiver.port}/`, { allow: [] })),
          /not on the public internet/,
        );
        assert.equal(receiver.received.length, 0);
      });
    }

    it('only with https, unless the network is allowed', async () => {
      const resolve: Resolve = async () => ['93.184.215.14'];
      assert.match(errorOf(await send('http://receiver.example/', { resolve })), /https/);
    });

    it('resolves once and connects to the checked address', async () => {
      let asked = 0;
      const resolve: Resolve = async () => (++asked === 1 ? ['127.0.0.1'] : ['10.0.0.1']);
      const result = await send(`http://receiver.example:${receiver.port}/hook`, { resolve });
      assert.deepEqual(result, { outcome: 'delivered', status: 204 });
      assert.equal(asked, 1);
      assert.equal(receiver.received[0]!.host, `receiver.example:${receiver.port}`);
    });

    it('verifies the certificate for the hostname', async () => {
      const resolve: Resolve = async () => ['127.0.0.1'];
      const given = { resolve, ca: CERTIFICATE };
      const named = `https://localhost:${secure.port}/hook`;
      assert.deepEqual(await send(named, given), { outcome: 'delivered', status: 204 });
      // The certificate is for localhost.
      assert.match(errorOf(await send(`https://other.example:${secure.port}/hook`, given)), /ALTNAME/);
      assert.match(errorOf(await send(named, { resolve })), /could not be reached/);
      assert.equal(secure.received.length, 1);
    });

    it('fails if the name is unknown or its name server is silent', async () => {
      assert.match(errorOf(await send('https://nowhere.example/')), /could not be resolved/);
      const silent: Resolve = () => new Promise(() => undefined);
      assert.match(errorOf(await send('https://silent.example/', { resolve: silent, deadlineMs: 50 })), /too long/);
    });
  });

  describe('ends in time', () => {
    const hostile: Record<string, readonly [string, RegExp]> = {
      'a silent receiver': ['', /too long/],
      'an endless response head': ['HTTP/1.1 200 OK\r\nx: ', /too long/],
      'informational responses without end': ['HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(50), /too long/],
      'a response that is not HTTP': ['SSH-2.0-OpenSSH\r\n', /no valid response/],
      'headers without end': [
        `HTTP/1.1 200 OK\r\n${`x: ${'y'.repeat(1_000)}\r\n`.repeat(100)}`,
        /too large|HPE_HEADER_OVERFLOW/,
      ],
    };
    for (const [what, [text, expected]] of Object.entries(hostile)) {
      it(what, async (context) => {
        const raw = await startRawServer(ignore, (socket) => void socket.write(text));
        context.after(raw.close);
        assert.match(errorOf(await send(raw.url, { deadlineMs: 300 })), expected);
      });
    }

    it('a connection that is reset', async (context) => {
      const raw = await startRawServer(ignore, (socket) => socket.once('data', () => socket.resetAndDestroy()));
      context.after(raw.close);
      assert.match(errorOf(await send(raw.url)), /could not be reached or sent no valid response/);
    });

    it('a success with an endless body counts, and little of the body is read', async (context) => {
      let sentBytes = 0;
      const raw = await startRawServer(ignore, (socket) => {
        const chunk = Buffer.alloc(64 * 1024, 'x');
        const more = (): void => {
          while (!socket.destroyed && socket.write(chunk)) sentBytes += chunk.length;
          socket.once('drain', more);
        };
        socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n');
          more();
        });
      });
      context.after(raw.close);
      assert.deepEqual(await send(raw.url), { outcome: 'delivered', status: 200 });
      // The size of socket buffers.
      assert.ok(sentBytes < 32 * 2 ** 20, `${sentBytes} bytes were taken`);
    });

    it('a success with a slow body counts without waiting for it', { timeout: 20_000 }, async (context) => {
      const raw = await startRawServer(ignore, (socket) => {
        socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx'));
      });
      context.after(raw.close);
      // An attempt may take much longer than this test.
      assert.deepEqual(await send(raw.url, { deadlineMs: 600_000 }), { outcome: 'delivered', status: 200 });
    });

    it('if the node stops, without being counted', async (context) => {
      const raw = await startRawServer(ignore);
      const stopping = new AbortController();
      context.after(raw.close);
      const sending = send(raw.url, { signal: stopping.signal });
      stopping.abort(new Error('the node stops'));
      await assert.rejects(sending, /the node stops/);
    });
  });
});
