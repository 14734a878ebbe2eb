import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { request } from 'undici';
import type { Config } from '../../config/schema.ts';
import { adminEnvelope } from '../../errors/envelopes.ts';
import { createHttpServer } from '../../http/server.ts';
import { systemClock } from '../../lib/clock.ts';
import { createIds } from '../../lib/ids.ts';
import { silentLogger } from '../../lib/logger.ts';
import { registerConsole } from './register.ts';

describe('a built console', () => {
  let app: FastifyInstance;
  let url: string;
  let settings: Pick<Config, 'branding' | 'console'>;
  const root = mkdtempSync(join(tmpdir(), 'console-test-'));
  const directory = join(root, 'dist');

  /** Replaces the console with one that consists of one script. */
  function build(version: string): void {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(join(directory, 'assets'), { recursive: true });
    const script = `console.log('${version}')`;
    writeFileSync(
      join(directory, 'index.html'),
      `<meta content="STYLE_NONCE"><meta content="BRANDING"><title>BRAND_NAME</title><link href="/console/icon.svg">
      <script src="/console/assets/${version}.js"></script>`,
    );
    writeFileSync(join(directory, 'assets', `${version}.js`), script);
    writeFileSync(join(directory, 'assets', `${version}.js.br`), brotliCompressSync(script));
  }

  async function get(path: string, headers: Record<string, string> = {}) {
    const response = await request(url + path, { headers });
    return { status: response.statusCode, headers: response.headers, text: await response.body.text() };
  }

  before(() => rmSync(directory, { recursive: true, force: true }));
  beforeEach(async () => {
    await app?.close();
    settings = { branding: {}, console: { pricing: false } };
    app = createHttpServer({
      clock: systemClock,
      ids: createIds(systemClock),
      logger: silentLogger,
      isClosing: () => false,
      unknownAddresses: { envelopeOf: () => adminEnvelope, messageFor: () => 'Nothing is here.' },
      limits: { headerTimeout: 60_000, clientStallTimeout: 300_000, connections: 1000 },
    });
    registerConsole(app, { settings: () => settings, prices: () => '{"data":[]}' }, directory);
    url = await app.listen({ host: '127.0.0.1', port: 0 });
  });
  after(async () => {
    await app.close();
    rmSync(root, { recursive: true, force: true });
  });

  it('is served as soon as it is built, while the gateway runs', async () => {
    const missing = await get('/console');
    assert.deepEqual([missing.status, missing.headers['cache-control']], [404, 'no-store']);
    assert.match(missing.text, /npm run build/);
    build('first');
    assert.match((await get('/console')).text, /assets\/first\.js/);
  });

  it('keeps serving the files of its page when a new one is built', async () => {
    build('first');
    assert.match((await get('/console/')).text, /assets\/first\.js/);
    build('second');
    assert.match((await get('/console')).text, /assets\/first\.js/);
    const script = await get('/console/assets/first.js');
    assert.deepEqual([script.status, script.text], [200, "console.log('first')"]);
    const encoded = await get('/console/assets/first.js', { 'accept-encoding': 'gzip, br' });
    assert.equal(encoded.headers['content-encoding'], 'br');
  });

  it('serves no file of another version, with an uncacheable 404', async () => {
    build('second');
    const { status, headers } = await get('/console/assets/first.js', { 'accept-encoding': 'br' });
    assert.deepEqual([status, headers['cache-control'], headers['content-encoding']], [404, 'no-store', undefined]);
  });

  it('is sent unencoded if the encodings have weight 0, in any position', async () => {
    build('first');
    for (const given of ['br;q=0', 'br;q=0.000', 'br;x=1;q=0', 'identity']) {
      const { headers } = await get('/console/assets/first.js', { 'accept-encoding': given });
      assert.equal(headers['content-encoding'], undefined, given);
    }
  });

  it('has the name, the logo and the support address of the operator, which cannot become markup', async () => {
    build('first');
    assert.match((await get('/console')).text, /<title>Faregate<\/title><link href="\/console\/icon\.svg">/);
    assert.equal((await get('/console/logo')).status, 404);
    const logo = `data:image/svg+xml;base64,${Buffer.from('<svg><script>1</script></svg>').toString('base64')}`;
    settings = { ...settings, branding: { name: '<b>$& "Acme"', logo, supportAddress: 'help@acme.example' } };
    const { text } = await get('/console');
    assert.match(text, /<title>&#60;b&#62;\$&#38; &#34;Acme&#34;<\/title>/);
    assert.match(text, /help@acme\.example/);
    const [, address = ''] = /<link href="([^"]+)">/.exec(text) ?? [];
    const image = await get(address);
    assert.deepEqual([image.status, image.text], [200, '<svg><script>1</script></svg>']);
    assert.equal(image.headers['content-type'], 'image/svg+xml');
    assert.equal(image.headers['x-content-type-options'], 'nosniff');
    assert.match(String(image.headers['content-security-policy']), /^default-src 'none'; .*sandbox$/);
    settings = { ...settings, branding: { logo: logo.replace('svg+xml', 'png') } };
    assert.equal((await get('/console/logo')).headers['content-type'], 'image/png');
  });

  it('is the price page, too, which can be cached, and which exists only if it is switched on', async () => {
    build('first');
    for (const path of ['/pricing', '/pricing/models']) {
      const off = await get(path);
      assert.deepEqual([off.status, off.headers['cache-control']], [404, 'no-store'], path);
    }
    settings = { branding: { name: 'Acme' }, console: { pricing: true } };
    for (const path of ['/pricing', '/pricing/models']) {
      const { status, headers, text } = await get(path);
      assert.deepEqual([status, text.length > 0], [200, true]);
      assert.match(String(headers['cache-control']), /^public, (no-cache|max-age=60)$/);
      const again = await get(path, { 'if-none-match': String(headers.etag) });
      assert.deepEqual([again.status, again.text], [304, '']);
      assert.equal(again.headers['content-security-policy'], headers['content-security-policy']);
    }
    const { headers, text } = await get('/pricing');
    assert.match(text, /<title>Acme<\/title>/);
    const [, nonce = ''] = /<meta content="([\w+/=]{44})">/.exec(text) ?? [];
    assert.ok(String(headers['content-security-policy']).includes(`style-src 'self' 'nonce-${nonce}'`));
    settings = { ...settings, branding: { name: 'Other' } };
    assert.equal((await get('/pricing', { 'if-none-match': String(headers.etag) })).status, 200);
  });

  it('supports HEAD and no method that changes anything', async () => {
    build('first');
    const head = await request(`${url}/console/assets/first.js`, { method: 'HEAD' });
    await head.body.dump();
    assert.deepEqual([head.statusCode, head.headers['content-length']], [200, '20']);
    const posted = await request(`${url}/console/assets/first.js`, { method: 'POST', body: 'x' });
    await posted.body.dump();
    assert.deepEqual([posted.statusCode, posted.headers.allow], [405, 'GET, HEAD']);
  });
});
