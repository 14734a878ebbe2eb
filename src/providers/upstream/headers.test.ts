import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { parseConfig } from '../../config/load.ts';
import {
  forwardedHeaders,
  presentableHeaders,
  safeResponseHeaders,
  upstreamHeaders,
  upstreamRequestId,
} from './headers.ts';
import { createProviders } from './provider.ts';
import { scrub } from './secrets.ts';

const config = parseConfig(
  `
providers:
  chatty: { protocol: chat, baseUrl: https://chat.example/v1, apiKey: chat-secret }
  messy: { protocol: messages, baseUrl: https://messages.example, apiKey: messages-secret }
  vendored: { protocol: messages, vendor: anthropic, auth: bearer, baseUrl: https://vendor.example, apiKey: vendor-secret }
  equipped:
    protocol: messages
    vendor: anthropic
    baseUrl: https://equipped.example
    apiKey: equipped-secret
    proxy: http://proxyuser:proxy-password@proxy.example:3128
    headers:
      HTTP-Referer: https://shop.example
      X-Title: default
      x-organization: org-A1b2C3d4E5f6G7h8
      x-gateway-auth: Bearer 0123456789abcdef
      cf-access-token: short
      User-Agent: shop/1
      Anthropic-Version: "2030-01-01"
      anthropic-beta: pinned
`,
  'test.yaml',
  {},
);
const providers = createProviders(config.providers);
const [chatty, messy, vendored] = ['chatty', 'messy', 'vendored'].map((id) => providers.get(id)) as [
  ReturnType<typeof providers.get>,
  ReturnType<typeof providers.get>,
  ReturnType<typeof providers.get>,
];
after(() => providers.close());

const whole = { isStream: false, contentType: 'application/json' };
const stream = { isStream: true, contentType: 'application/json' };

type Sent = Parameters<typeof upstreamHeaders>;
const headersTo = (provider: Sent[0], client: Sent[2], names: Sent[3], what: Sent[4]) =>
  upstreamHeaders(provider, provider.credentials.next('m', [], true, 0)!, client, names, what);

describe('headers to a provider', () => {
  it('are exactly these', () => {
    assert.deepEqual(headersTo(chatty, {}, ['compat'], whole), {
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'faregate',
      authorization: 'Bearer chat-secret',
    });
  });

  it('contain those of the client that the configuration lists, unless they belong to its connection', () => {
    const client = { 'x-session': 's-1', 'x-other': 'no', 'x-hop': 'no', connection: 'keep-alive, X-Hop' };
    const forwards = ['x-session', 'x-hop', 'x-absent', 'user-agent'];
    const forwarded = forwardedHeaders({ ...chatty, forwards }, client);
    assert.deepEqual(forwarded, { 'x-session': 's-1' });
    const sent = upstreamHeaders(chatty, 'k', client, ['compat'], whole, forwarded);
    assert.deepEqual(sent, { ...upstreamHeaders(chatty, 'k', {}, ['compat'], whole), 'x-session': 's-1' });
  });

  it('contain nothing of the client, in particular not its credential', () => {
    const client = {
      authorization: 'Bearer sk-fg-client',
      'x-api-key': 'sk-fg-client',
      cookie: 'session=1',
      'user-agent': 'client/1',
      accept: '*/*',
      'accept-encoding': 'gzip',
      'content-type': 'application/json; charset=utf-8',
      'content-encoding': 'gzip',
      'content-length': '5',
      host: 'gateway.example',
      connection: 'keep-alive',
      'x-forwarded-for': '10.0.0.1',
      'openai-organization': 'org',
      'x-stainless-lang': 'js',
      'other-version': '1',
      'other-beta': 'b',
    };
    for (const provider of [chatty, messy, vendored]) {
      const names = ['compat', 'altproto'];
      assert.deepEqual(headersTo(provider, client, names, stream), headersTo(provider, {}, names, stream));
    }
  });

  it("contain the credential in the provider's form", () => {
    assert.equal(headersTo(messy, {}, ['altproto'], whole)['x-api-key'], 'messages-secret');
    assert.equal(headersTo(messy, {}, ['altproto'], whole).authorization, undefined);
    assert.equal(headersTo(vendored, {}, ['altproto'], whole).authorization, 'Bearer vendor-secret');
    assert.equal(headersTo(vendored, {}, ['altproto'], whole)['x-api-key'], undefined);
  });

  it('accept an event stream if the client requests one', () => {
    assert.equal(headersTo(chatty, {}, ['compat'], stream).accept, 'text/event-stream');
  });

  it("contain version and beta under the provider's name, whatever name the client used", () => {
    for (const name of ['altproto', 'other', 'anthropic']) {
      const client = { [`${name}-version`]: '2026-10-21', [`${name}-beta`]: 'a-1,b-2' };
      const headers = headersTo(vendored, client, ['altproto', 'other'], whole);
      assert.equal(headers['anthropic-version'], '2026-10-21');
      assert.equal(headers['anthropic-beta'], 'a-1,b-2');
      assert.equal(Object.keys(headers).filter((header) => header.endsWith('-version')).length, 1);
    }
  });

  it('use the canonical mount name if the provider has no name of its own', () => {
    const client = { 'other-version': '2', 'other-beta': 'x' };
    const headers = headersTo(messy, client, ['altproto', 'other'], whole);
    assert.equal(headers['altproto-version'], '2');
    assert.equal(headers['altproto-beta'], 'x');
  });

  it("prefer the provider's name, then the mount names in order", () => {
    const client = { 'other-version': '3', 'altproto-version': '2', 'anthropic-version': '1' };
    assert.equal(headersTo(vendored, client, ['altproto', 'other'], whole)['anthropic-version'], '1');
    assert.equal(headersTo(messy, client, ['altproto', 'other'], whole)['altproto-version'], '2');
  });

  it('have version 2023-06-01 by default in messages calls, and none in chat calls', () => {
    assert.equal(headersTo(vendored, {}, ['altproto'], whole)['anthropic-version'], '2023-06-01');
    assert.equal(headersTo(chatty, {}, ['compat'], whole)['compat-version'], undefined);
    assert.equal(headersTo(chatty, { 'compat-version': '7' }, ['compat'], whole)['compat-version'], '7');
  });

  it('join repeated headers', () => {
    const client = { 'altproto-beta': ['a', 'b'] };
    assert.equal(headersTo(messy, client, ['altproto'], whole)['altproto-beta'], 'a, b');
  });
});

describe('headers to the client', () => {
  it('are limits, retry advice and timing, and nothing else from the provider', () => {
    assert.deepEqual(
      safeResponseHeaders({
        'retry-after': '5',
        'retry-after-ms': '5000',
        'x-should-retry': 'false',
        'openai-processing-ms': '12',
        'openai-version': '2020-10-01',
        'x-ratelimit-remaining-requests': '9',
        'anthropic-ratelimit-tokens-reset': '2026-10-21T00:00:00Z',
        'set-cookie': ['a=1'],
        server: 'cloudflare',
        via: '1.1 proxy',
        'cf-ray': '1',
        'openai-organization': 'acme',
        'anthropic-organization-id': 'org',
        'x-request-id': 'r',
        'content-type': 'application/json',
        'content-length': '2',
        'transfer-encoding': 'chunked',
        connection: 'close',
        'xx-ratelimit-limit': '1',
      }),
      {
        'retry-after': '5',
        'retry-after-ms': '5000',
        'x-should-retry': 'false',
        'openai-processing-ms': '12',
        'openai-version': '2020-10-01',
        'x-ratelimit-remaining-requests': '9',
        'anthropic-ratelimit-tokens-reset': '2026-10-21T00:00:00Z',
      },
    );
  });

  it('omit repeated headers, since it is unknown which one counts', () => {
    assert.deepEqual(safeResponseHeaders({ 'x-ratelimit-limit-requests': ['1', '2'] }), {});
  });
});

describe("the provider's id of a call", () => {
  it('is x-request-id, or else request-id', () => {
    assert.equal(upstreamRequestId({ 'x-request-id': 'req_1', 'request-id': 'req_2' }), 'req_1');
    assert.equal(upstreamRequestId({ 'request-id': 'req_2' }), 'req_2');
    assert.equal(upstreamRequestId({}), null);
  });

  it('is ignored if it is not plausible', () => {
    for (const id of ['', 'a b', 'a\tb', 'é', '<script>', 'x'.repeat(129)]) {
      assert.equal(upstreamRequestId({ 'x-request-id': id, 'request-id': 'req_2' }), 'req_2', id);
    }
    assert.equal(upstreamRequestId({ 'x-request-id': ['a', 'b'] }), null);
    assert.equal(upstreamRequestId({ 'x-request-id': 'x'.repeat(128) }), 'x'.repeat(128));
    assert.equal(upstreamRequestId({ 'x-request-id': 'req:1/2@host=a+b.c-d_e' }), 'req:1/2@host=a+b.c-d_e');
  });
});

describe('headers of the operator', () => {
  const equipped = providers.get('equipped');

  it('are sent with every call to their provider, and override those of the gateway and the client', () => {
    const client = { 'anthropic-version': '2024-01-01', 'anthropic-beta': 'asked', 'x-title': 'of the client' };
    assert.deepEqual(headersTo(equipped, client, ['altproto'], whole), {
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'shop/1',
      'x-api-key': 'equipped-secret',
      'anthropic-version': '2030-01-01',
      'anthropic-beta': 'pinned',
      'http-referer': 'https://shop.example',
      'x-title': 'default',
      'x-organization': 'org-A1b2C3d4E5f6G7h8',
      'x-gateway-auth': 'Bearer 0123456789abcdef',
      'cf-access-token': 'short',
    });
    assert.equal(headersTo(vendored, client, ['altproto'], whole)['x-title'], undefined);
  });

  it('are removed from texts for clients only if they look like credentials', () => {
    assert.deepEqual(equipped.hidden.texts.toSorted(), [
      '0123456789abcdef',
      'Bearer 0123456789abcdef',
      'equipped-secret',
      'equipped.example',
      'equipped.example',
      'org-A1b2C3d4E5f6G7h8',
      'proxy-password',
      'proxy.example',
      'proxy.example:3128',
      'short',
    ]);
    assert.equal(
      scrub('By default the user of org-A1b2C3d4E5f6G7h8 has no key 0123456789ABCDEF.', equipped.hidden.texts),
      'By default the user of [provider] has no key [provider].',
    );
  });
});

describe('response headers that may be read', () => {
  const hiddenWords = ['provider-key-1', 'vendor.example:8443', 'vendor.example'];

  it('exclude those that name the provider or reveal its credential, in any case', () => {
    const upstream = {
      'x-request-id': 'PROVIDER-KEY-1',
      'x-ratelimit-at': 'see https://vendor.EXAMPLE/limits',
      'x-ratelimit-vendor.example': '1',
      'retry-after': '7',
      'content-type': 'text/plain; charset=utf-8',
    };
    assert.deepEqual(presentableHeaders(upstream, hiddenWords), {
      'retry-after': '7',
      'content-type': 'text/plain; charset=utf-8',
    });
  });

  it('exclude non-ASCII values', () => {
    const upstream = { 'x-request-id': 'é', 'request-id': '日本', 'retry-after': '7\u0001', 'x-ratelimit-limit': '' };
    assert.deepEqual(presentableHeaders(upstream, hiddenWords), { 'x-ratelimit-limit': '' });
  });

  it('exclude unknown headers', () => {
    assert.deepEqual(presentableHeaders({ 'set-cookie': ['a=b'], server: 'vendor', via: '1.1 edge' }, hiddenWords), {});
  });
});
