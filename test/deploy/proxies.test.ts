import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CERTIFICATE, CERTIFICATE_KEY } from '../support/certificate.ts';
import { freePort } from '../support/free-port.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { temporaryDirectory } from '../support/process.ts';
import { chatResponse, liveResponse } from '../support/provider.ts';
import { recordLogs } from '../support/recorded-logger.ts';
import { findTool, skipOrFail } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** The examples for proxies, each as it stands in `deploy/` but for addresses and certificates, before a real gateway. */

const read = (file: string): string =>
  readFileSync(fileURLToPath(new URL(`../../deploy/${file}`, import.meta.url)), 'utf8');

/** Where clients call from: not the address of the proxy, or nobody could tell them apart. */
const CLIENT = '127.0.0.2';

interface Place {
  readonly directory: string;
  readonly port: number;
  readonly gateway: string;
}

interface Proxy {
  readonly program: string;
  /** Writes the example for this place, and returns the arguments that check it and those that run it. */
  write(place: Place): { check: string[]; run: string[] };
}

/** Replaces what has to be there, so that a test does not go on with an example that has changed. */
function replaced(from: string, pairs: readonly (readonly [string, string])[]): string {
  return pairs.reduce((given, [old, changed]) => {
    assert.ok(given.includes(old), old);
    return given.replaceAll(old, changed);
  }, from);
}

const PROXIES: readonly Proxy[] = [
  {
    program: 'nginx',
    write({ directory, port, gateway }) {
      const site = replaced(read('nginx/faregate.conf'), [
        ['server 127.0.0.1:8080;', `server ${gateway};`],
        ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
        ['/etc/ssl/faregate/', `${directory}/`],
      ]);
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${directory}/${name};`)
        .join('\n');
      writeFileSync(
        join(directory, 'nginx.conf'),
        // As root, its workers would be of a user who may not enter the directory.
        `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; worker_processes 1; pid ${directory}/pid;
        error_log stderr warn; events {} http { access_log off; ${paths}\n${site} }`,
      );
      const run = ['-e', 'stderr', '-p', directory, '-c', join(directory, 'nginx.conf')];
      return { check: ['-t', ...run], run };
    },
  },
  {
    program: 'caddy',
    write({ directory, port, gateway }) {
      const file = join(directory, 'Caddyfile');
      const site = replaced(read('caddy/Caddyfile'), [
        ['gateway.example {', `https://127.0.0.1:${port} {\n\ttls ${directory}/certificate.pem ${directory}/key.pem`],
        ['reverse_proxy 127.0.0.1:8080', `reverse_proxy ${gateway}`],
      ]);
      writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`);
      const options = ['--config', file, '--adapter', 'caddyfile'];
      return { check: ['validate', ...options], run: ['run', ...options] };
    },
  },
];

for (const proxy of PROXIES) {
  describe(`${proxy.program} before the gateway`, { timeout: 300_000 }, () => {
    const path = findTool(proxy.program);
    const directory = temporaryDirectory();
    const logs = recordLogs();
    let gateway: TestGateway;
    let account: TestAccount;
    let child: ChildProcess | undefined;
    let port: number;
    let checked: { status: number | null; stderr: string };

    before(async () => {
      if (path === null) return;
      gateway = await startGateway({ logger: logs.logger, server: 'trustedProxies: [127.0.0.1]' });
      account = await gateway.createAccount();
      port = await freePort();
      writeFileSync(join(directory.path, 'certificate.pem'), CERTIFICATE);
      writeFileSync(join(directory.path, 'key.pem'), CERTIFICATE_KEY, { mode: 0o600 });
      const { check, run } = proxy.write({ directory: directory.path, port, gateway: new URL(gateway.url).host });
      const options = { env: { PATH: process.env.PATH, HOME: directory.path } };
      checked = spawnSync(path, check, { ...options, encoding: 'utf8' });
      child = spawn(path, run, { ...options, stdio: 'ignore' });
      await until(async () => (await send('/healthz').catch(() => null))?.statusCode === 200);
    });
    after(async () => {
      if (child !== undefined && child.exitCode === null) {
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
      if (path !== null) await gateway.stop();
      directory.remove();
    });
    beforeEach((t) => {
      if (path === null) skipOrFail(t as TestContext, `${proxy.program} is not installed`);
      else gateway.provider.respond = chatResponse();
    });

    /** Sends a request through the proxy; `body` makes it a call. */
    async function send(to: string, body?: object, headers: Record<string, string> = {}): Promise<IncomingMessage> {
      const own =
        body === undefined ? {} : { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' };
      const sent = request(`https://127.0.0.1:${port}${to}`, {
        method: body === undefined ? 'GET' : 'POST',
        ca: CERTIFICATE,
        agent: false,
        localAddress: CLIENT,
        headers: { ...own, ...headers },
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      return response;
    }

    const chat = (fields: object = {}, headers?: Record<string, string>): Promise<IncomingMessage> =>
      send(
        '/v1/chat/completions',
        { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }], ...fields },
        headers,
      );

    it('takes the example as valid', () => {
      if (path !== null) assert.equal(checked.status, 0, checked.stderr);
    });

    it('passes each event of a stream on before the next one is sent, compressed for nobody', async () => {
      if (path === null) return;
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const coming = chat({ stream: true }, { 'accept-encoding': 'gzip, br, zstd' });
      await live.opened;
      const chunk = (content: string) =>
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
      await live.write(chunk('word-0'));
      const response = await coming;
      assert.equal(response.headers['content-encoding'], undefined);
      let received = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        received += part;
      });
      for (let index = 0; index < 5; index++) {
        if (index > 0) await live.write(chunk(`word-${index}`));
        // The provider sends nothing more until this one is here.
        await until(() => received.includes(`word-${index}`));
      }
      const last = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
      await live.write(
        `data: ${JSON.stringify({ ...last, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n` +
          `data: ${JSON.stringify({ ...last, choices: [], usage: { prompt_tokens: 1, completion_tokens: 5, total_tokens: 6 } })}\n\ndata: [DONE]\n\n`,
      );
      live.end();
      await once(response, 'end');
      assert.match(received, /\[DONE\]/);
    });

    it('passes a large body on whole', async () => {
      if (path === null) return;
      const url = `data:image/png;base64,${'A'.repeat(24 * 2 ** 20)}`;
      const content = [{ type: 'image_url', image_url: { url } }];
      const response = await chat({ messages: [{ role: 'user', content }] });
      assert.equal(response.statusCode, 200, await text(response));
      const [received] = gateway.provider.requests.slice(-1);
      assert.ok(received!.body.length > url.length);
    });

    it('tells the gateway who the client is, whatever the client says of itself', async () => {
      if (path === null) return;
      logs.lines.length = 0;
      const response = await chat({}, { 'x-forwarded-for': '203.0.113.9' });
      assert.equal(response.statusCode, 200, await text(response));
      const lines = () => logs.lines.filter(({ message }) => message === 'request');
      await until(() => lines().length > 0);
      assert.equal(lines()[0]!.details!.clientAddress, CLIENT);
    });
  });
}
