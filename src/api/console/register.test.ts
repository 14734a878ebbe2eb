import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { request } from 'undici';
import { adminEnvelope } from '../../errors/envelopes.ts';
import { createHttpServer } from '../../http/server.ts';
import { systemClock } from '../../lib/clock.ts';
import { createIds } from '../../lib/ids.ts';
import { silentLogger } from '../../lib/logger.ts';
import { registerConsole } from './register.ts';

describe('a built console', () => {
  let app: FastifyInstance;
  let url: string;
  const root = mkdtempSync(join(tmpdir(), 'console-test-'));
  const directory = join(root, 'dist');

  /** Replaces the console with one that consists of one script. */
  function build(version: string): void {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(join(directory, 'assets'), { recursive: true });
    const script = `console.log('${version}')`;
    writeFileSync(join(directory, 'index.html'), `<script src="/console/assets/${version}.js"></script>`);
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
    app = createHttpServer({
      clock: systemClock,
      ids: createIds(systemClock),
      logger: silentLogger,
      isClosing: () => false,
      unknownAddresses: { envelopeOf: () => adminEnvelope, messageFor: () => 'Nothing is here.' },
      limits: { headerTimeout: 60_000, clientStallTimeout: 300_000, connections: 1000 },
    });
    registerConsole(app, directory);
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
