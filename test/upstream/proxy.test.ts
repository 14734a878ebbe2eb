import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { UpstreamFailure } from '../../src/providers/upstream/failure.ts';
import type { Provider } from '../../src/providers/upstream/provider.ts';
import { CERTIFICATE } from '../support/certificate.ts';
import { type HttpProxy, startHttpProxy } from '../support/http-proxy.ts';
import { json, type ScriptedProvider, startProvider } from '../support/provider.ts';
import {
  becomesIdle,
  failureOf,
  type Http2Server,
  providerAt,
  responseOf,
  send,
  startHttp2Server,
} from '../support/upstream.ts';

/** Providers behind an HTTP proxy. */

const NOT_REACHED = ['notSent', 'upstreamNotReached', 502];

describe('a provider behind a proxy', () => {
  let proxy: HttpProxy;
  let plain: ScriptedProvider;
  let secure: Http2Server;
  const providers: Provider[] = [];

  before(async () => {
    [proxy, plain, secure] = await Promise.all([startHttpProxy(), startProvider(), startHttp2Server()]);
    plain.respond = json(200, '{"ok":true}');
  });
  beforeEach(() => {
    proxy.response = null;
    proxy.asked.length = 0;
    proxy.authorizations.length = 0;
  });
  after(async () => {
    await Promise.all(providers.map((provider) => provider.destroy()));
    await Promise.all([proxy.close(), plain.close(), secure.close()]);
  });

  function through(url: string, fields = '', credential = ''): Provider {
    const provider = providerAt(url, `proxy: "http://${credential}${proxy.host}", ${fields}`);
    providers.push(provider);
    return provider;
  }

  const authority = (url: string): string => new URL(url).host;

  it('is reached through a tunnel, including over http, and the tunnel is reused', async () => {
    const provider = through(plain.url, 'connections: 1');
    const before = plain.requests.length;
    assert.equal(await responseOf(send(provider)), '{"ok":true}');
    assert.equal(await responseOf(send(provider)), '{"ok":true}');
    assert.deepEqual(proxy.asked, [`CONNECT ${authority(plain.url)}`]);
    assert.deepEqual(proxy.authorizations, [undefined]);
    const [request] = plain.requests.slice(before);
    assert.equal(request!.path, '/call');
    assert.equal(request!.headers.host, authority(plain.url));
    assert.equal(request!.headers['proxy-connection'], undefined);
    await becomesIdle(provider);
  });

  it('is reached over https, with its certificate checked through the tunnel, and over HTTP/2', async () => {
    assert.equal(await responseOf(send(through(secure.url, secure.fields))), 'ok');
    assert.equal(secure.sessions.length, 1);
    assert.deepEqual(proxy.asked, [`CONNECT ${authority(secure.url)}`]);
    assert.deepEqual(await failureOf(send(through(secure.url, 'http2: true'))), NOT_REACHED);
    assert.equal(secure.streams.length, 1);
    // The certificate is only for 127.0.0.1 and localhost.
    const other = through(secure.url.replace('127.0.0.1', '127.0.0.2'), `ca: ${JSON.stringify(CERTIFICATE)}`);
    assert.deepEqual(await failureOf(send(other)), NOT_REACHED);
    assert.equal(secure.streams.length, 1);
  });

  it('receives the call and its key, which the proxy does not; the proxy receives only its own credential', async () => {
    const provider = through(plain.url, '', 'us%40er:p%3Ass%2Fword@');
    await responseOf(send(provider, Buffer.from('{"secret":1}'), { authorization: 'Bearer the-key' }));
    assert.deepEqual(proxy.authorizations, [`Basic ${Buffer.from('us@er:p:ss/word').toString('base64')}`]);
    const received = plain.requests.at(-1)!;
    assert.equal(received.headers.authorization, 'Bearer the-key');
    assert.equal(received.headers['proxy-authorization'], undefined);
    assert.ok(provider.hidden.texts.includes('p:ss/word'));
    assert.ok(provider.hidden.texts.includes(proxy.host));
  });

  for (const [what, response] of [
    ['asks for a credential', 'HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n'],
    ['does not reach the provider', 'HTTP/1.1 502 Bad Gateway\r\n\r\n'],
    ['refuses', 'HTTP/1.1 403 Forbidden\r\ncontent-length: 5\r\n\r\nnever'],
    ['redirects', 'HTTP/1.1 302 Found\r\nlocation: http://elsewhere.example/\r\n\r\n'],
    ['does not speak HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['closes the connection', ''],
  ] as const) {
    it(`was certainly not sent the call if the proxy ${what}`, async () => {
      proxy.response = (client) => client.end(response);
      for (const [url, fields] of [
        [plain.url, ''],
        [secure.url, secure.fields],
      ] as const) {
        const provider = through(url, fields, 'user:the-proxy-password@');
        const sent = send(provider);
        assert.deepEqual(await failureOf(sent), NOT_REACHED);
        const failure = (await sent.outcome) as UpstreamFailure;
        assert.equal(failure.blamesRoute, true);
        assert.doesNotMatch(failure.response.message, /127\.0\.0\.1|proxy/);
        const logged = inspect(failure, { depth: 10 });
        assert.doesNotMatch(logged, /the-proxy-password/);
        assert.doesNotMatch(logged, new RegExp(Buffer.from('user:the-proxy-password').toString('base64')));
        await becomesIdle(provider);
      }
      assert.equal(proxy.asked.length, 2);
    });
  }

  it('was certainly not sent the call if the proxy does not respond within the connect timeout', async () => {
    const closed = Promise.withResolvers<void>();
    proxy.response = (client) => client.resume().on('end', closed.resolve).on('close', closed.resolve);
    const provider = through(plain.url, 'timeouts: { connect: 50ms }');
    assert.deepEqual(await failureOf(send(provider)), NOT_REACHED);
    await closed.promise;
    await becomesIdle(provider);
  });

  it('was certainly not sent the call if the proxy is down', async () => {
    const away = await startHttpProxy();
    await away.close();
    const provider = providerAt(plain.url, `proxy: "http://${away.host}"`);
    providers.push(provider);
    assert.deepEqual(await failureOf(send(provider)), NOT_REACHED);
  });

  it('is not reached through proxies from environment variables', async () => {
    const names = ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy', 'ALL_PROXY'];
    const saved = names.map((name) => [name, process.env[name]] as const);
    for (const name of names) process.env[name] = `http://${proxy.host}`;
    try {
      const provider = providerAt(plain.url);
      providers.push(provider);
      await responseOf(send(provider));
      assert.deepEqual(proxy.asked, []);
    } finally {
      for (const [name, value] of saved) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
  });

  it('closes a tunnel that opens after the provider was closed', async () => {
    let open: (() => void) | null = null;
    const asked = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    proxy.response = (client) => {
      client.resume().on('end', closed.resolve).on('close', closed.resolve);
      open = () => client.write('HTTP/1.1 200 OK\r\n\r\n');
      asked.resolve();
    };
    const provider = through(plain.url);
    const sent = send(provider);
    await asked.promise;
    await provider.destroy();
    open!();
    await closed.promise;
    assert.ok((await sent.outcome) instanceof UpstreamFailure);
  });
});
