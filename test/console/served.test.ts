import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { startGateway, type TestGateway } from '../support/gateway.ts';

/** Maximum size in bytes, compressed, of everything loaded before the overview is shown. */
const FIRST_LOAD_MAX = 220 * 1024;

describe('the files of the console', () => {
  let server: TestGateway;
  let html: string;
  let policy: string;

  before(async () => {
    server = await startGateway();
    const response = await fetch(`${server.url}/console`);
    html = await response.text();
    assert.equal(response.status, 200, html);
    policy = response.headers.get('content-security-policy') ?? '';
  });
  after(() => server?.stop());

  const addresses = () => [...html.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, address]) => address!);

  it("the page has no inline scripts or styles, and its policy admits only the gateway's", () => {
    assert.doesNotMatch(html, /<script(?![^>]*\ssrc="\/console\/)|<style|\sstyle=|\son\w+=|https?:\/\//);
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[\w+/=]{24}'; /);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
    assert.match(policy, /frame-ancestors 'none'/);
  });

  it('the root redirects browsers to the console, and describes the gateway to other clients', async () => {
    const get = (accept: string) => request(`${server.url}/`, { headers: { accept } });
    const browser = await get('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8');
    await browser.body.dump();
    assert.deepEqual([browser.statusCode, browser.headers.location], [302, '/console']);
    for (const accept of ['*/*', 'application/json']) {
      const other = await get(accept);
      assert.deepEqual([other.statusCode, await other.body.json()], [200, { name: 'faregate', status: 'ok' }]);
      assert.equal(other.headers.vary, 'Accept');
    }
  });

  it('each load has its own nonce', async () => {
    const nonce = /name="style-nonce" content="([^"]+)"/.exec(html)?.[1];
    assert.ok(nonce !== undefined && policy.includes(`'nonce-${nonce}'`));
    assert.ok(!(await (await fetch(`${server.url}/console`)).text()).includes(nonce));
  });

  it('at most 220 KB compressed load before the overview is shown', async () => {
    const [script] = addresses().filter((each) => each.endsWith('.js'));
    const code = (await read(script!, 'identity')).bytes.toString();
    const [, overview] = /\bOverviewPage\b.*?import\([`"']\.\/([\w.-]+)/.exec(code) ?? [];
    assert.ok(overview !== undefined);
    const needed = new Set(addresses());
    // Static imports load with their script. Dynamic imports, such as charts, are written `import(`.
    for (const address of needed.add(`/console/assets/${overview}`)) {
      if (!address.endsWith('.js')) continue;
      const imports = (await read(address, 'identity')).bytes.toString().matchAll(/(?:from|import)[`"']\.\/([\w.-]+)/g);
      for (const [, file] of imports) needed.add(`/console/assets/${file}`);
    }
    const sizes = await Promise.all([...needed].map(async (address) => (await read(address, 'br')).bytes.length));
    assert.ok(needed.size > addresses().length + 1);
    const total = sizes.reduce((sum, size) => sum + size, html.length);
    assert.ok(total <= FIRST_LOAD_MAX, `${total} bytes`);
  });

  it('files have an accepted encoding and a cache lifetime', async () => {
    const address = addresses().find((each) => each.endsWith('.js'))!;
    const [plain, brotli, gzip] = await Promise.all([
      read(address, 'identity'),
      read(address, 'gzip, br'),
      read(address, 'gzip'),
    ]);
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.deepEqual([brotli.headers['content-encoding'], gzip.headers['content-encoding']], ['br', 'gzip']);
    assert.ok(brotliDecompressSync(brotli.bytes).equals(plain.bytes) && gunzipSync(gzip.bytes).equals(plain.bytes));
    assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable');
    assert.equal((await read(address, 'br;q=0')).headers['content-encoding'], undefined);
    const known = await request(server.url + address, { headers: { 'if-none-match': String(plain.headers.etag) } });
    assert.equal(known.statusCode, 304);
    await known.body.dump();
  });

  it('no other files of the directory are served', async () => {
    for (const path of [
      '/console/index.html',
      '/console/assets/',
      '/console/../package.json',
      '/console/assets/%2e%2e/index.html',
    ]) {
      const { statusCode, body } = await request(server.url + path);
      await body.dump();
      assert.equal(statusCode, 404, path);
    }
  });

  async function read(address: string, encoding: string) {
    const { statusCode, headers, body } = await request(server.url + address, {
      headers: { 'accept-encoding': encoding },
    });
    assert.equal(statusCode, 200, address);
    return { headers, bytes: Buffer.from(await body.arrayBuffer()) };
  }
});
