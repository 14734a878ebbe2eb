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
import { endpointAliases } from '../../src/api/endpoints/aliases.ts';
import { endpointTable } from '../../src/api/endpoints/table.ts';
import { parseConfig } from '../../src/config/load.ts';
import { CERTIFICATE, CERTIFICATE_KEY } from '../support/certificate.ts';
import { freePort } from '../support/free-port.ts';
import { ADMIN_TOKEN, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { temporaryDirectory } from '../support/process.ts';
import { chatResponse, liveResponse } from '../support/provider.ts';
import { recordLogs } from '../support/recorded-logger.ts';
import { findTool, skipOrFail } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** The example configurations of proxies in `deploy/`, unchanged except for addresses and certificates, in front of a real gateway. */

const read = (file: string): string =>
  readFileSync(fileURLToPath(new URL(`../../deploy/${file}`, import.meta.url)), 'utf8');

/** The clients' address. It differs from the proxy's, so that the two can be distinguished. */
const CLIENT = '127.0.0.2';

/** Every response of the gateway has this header, and no response of a proxy. */
const FROM_GATEWAY = 'x-request-id';
/** Paths that neither callers nor tenants may reach. */
const OPERATORS = /^\/(?:admin\/|metrics$|readyz$)/;

interface Place {
  readonly directory: string;
  readonly port: number;
  readonly gateway: string;
}

interface Proxy {
  readonly program: string;
  /** Writes the example for this test; returns the arguments to check it and to run it. */
  write(place: Place, changes?: readonly (readonly [string, string])[]): { check: string[]; run: string[] };
  /** The example's network of operators, replaced by that of `CLIENT`. */
  readonly network: readonly [string, string];
}

/** Replaces text that must exist, so that changed examples fail the test. */
function replaced(from: string, pairs: readonly (readonly [string, string])[]): string {
  return pairs.reduce((given, [old, changed]) => {
    assert.ok(given.includes(old), old);
    return given.replaceAll(old, changed);
  }, from);
}

const PROXIES: readonly Proxy[] = [
  {
    program: 'nginx',
    network: ['# allow 192.0.2.0/24;', `allow ${CLIENT};`],
    write({ directory, port, gateway }, changes = []) {
      const site = replaced(read('nginx/faregate.conf'), [
        ...changes,
        ['server 127.0.0.1:8080;', `server ${gateway};`],
        ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
        ['/etc/ssl/faregate/', `${directory}/`],
      ]);
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${directory}/${name};`)
        .join('\n');
      writeFileSync(
        join(directory, 'nginx.conf'),
        // As root, its workers would run as a user without access to the directory.
        `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; worker_processes 1; pid ${directory}/pid;
        error_log stderr warn; events {} http { access_log off; ${paths}\n${site} }`,
      );
      const run = ['-e', 'stderr', '-p', directory, '-c', join(directory, 'nginx.conf')];
      return { check: ['-t', ...run], run };
    },
  },
  {
    program: 'caddy',
    network: ['remote_ip 192.0.2.0/24', `remote_ip ${CLIENT}/32`],
    write({ directory, port, gateway }, changes = []) {
      const file = join(directory, 'Caddyfile');
      const site = replaced(read('caddy/Caddyfile'), [
        ...changes,
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
  describe(`${proxy.program} in front of the gateway`, { timeout: 300_000 }, () => {
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

    /** Sends a request through the proxy; with a `body` it is a call. */
    async function send(
      to: string,
      body?: object,
      headers: Record<string, string> = {},
      by: { readonly port: number; readonly from: string } = { port, from: CLIENT },
    ): Promise<IncomingMessage> {
      const own =
        body === undefined ? {} : { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' };
      const sent = request({
        host: '127.0.0.1',
        port: by.port,
        // Verbatim: a URL would resolve the dots.
        path: to,
        method: body === undefined ? 'GET' : 'POST',
        ca: CERTIFICATE,
        agent: false,
        localAddress: by.from,
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

    it('accepts the example', () => {
      if (path !== null) assert.equal(checked.status, 0, checked.stderr);
    });

    it('publishes the addresses for callers and tenants, with their aliases', async () => {
      if (path === null) return;
      const config = parseConfig('', 'faregate.yaml', {});
      const table = endpointTable(config);
      const calls = [...table, ...endpointAliases(table, config.server.protocolNames.messages)];
      const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as { paths: Record<string, object> };
      const own = Object.keys(document.paths).filter((each) => !OPERATORS.test(each));
      const pages = ['/console', '/console/assets/x.js', '/docs', '/docs/start.js', '/?a', '/v1/models?limit=1'];
      for (const each of new Set([...calls.map(({ path: of }) => of), ...own, ...pages])) {
        const to = each.replaceAll(/[:{][^/]+/g, 'x');
        assert.notEqual((await send(to)).headers[FROM_GATEWAY], undefined, to);
      }
    });

    it('publishes neither the admin API nor metrics nor health details, however the paths are spelt', async () => {
      if (path === null) return;
      const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as { paths: Record<string, object> };
      const hidden = Object.keys(document.paths).filter((each) => OPERATORS.test(each));
      assert.ok(hidden.length > 50 && hidden.includes('/metrics') && hidden.includes('/readyz'), hidden.join(' '));
      const written = [
        '//admin/v1/accounts',
        '/Admin/v1/accounts',
        '/./admin/v1/accounts',
        '/v1/../admin/v1/accounts',
        '/v1/%2e%2e/admin/v1/accounts',
        '/v1/..%2fadmin%2fv1%2faccounts',
        '/%61dmin/v1/accounts',
        '/admin%2fv1/accounts',
        '/admin/v1/calls/%2e%2e%2f%2e%2e%2f%2e%2e%2fv1%2fmodels',
        '/%61dmin/v1/calls/..%2f..%2f..%2fv1%2fmodels',
        '/admin/v1/calls/../../../v1/models',
        '/metrics/',
        '/metrics?x',
        '/%6detrics',
        '/metrics/../v1/models',
        '/console/../metrics',
        '/anything-else',
      ];
      const authorization = `Bearer ${ADMIN_TOKEN}`;
      for (const each of [...hidden, ...written]) {
        const response = await send(each.replaceAll(/[:{][^/]+/g, 'x'), undefined, { authorization });
        assert.ok([400, 403, 404].includes(response.statusCode!), `${each}: ${response.statusCode}`);
        assert.equal(response.headers[FROM_GATEWAY], undefined, each);
      }
    });

    it('publishes them to the operators’ network', async () => {
      if (path === null) return;
      const operators = await freePort();
      const other = temporaryDirectory();
      writeFileSync(join(other.path, 'certificate.pem'), CERTIFICATE);
      writeFileSync(join(other.path, 'key.pem'), CERTIFICATE_KEY, { mode: 0o600 });
      const place = { directory: other.path, port: operators, gateway: new URL(gateway.url).host };
      const { run } = proxy.write(place, [proxy.network]);
      const second = spawn(path, run, { env: { PATH: process.env.PATH, HOME: other.path }, stdio: 'ignore' });
      try {
        const authorization = `Bearer ${ADMIN_TOKEN}`;
        const ask = (to: string, from: string) => send(to, undefined, { authorization }, { port: operators, from });
        await until(async () => (await ask('/healthz', CLIENT).catch(() => null))?.statusCode === 200);
        for (const to of ['/admin/v1/accounts', '/metrics', '/readyz']) {
          assert.equal((await ask(to, CLIENT)).statusCode, 200, to);
          assert.equal((await ask(to, '127.0.0.3')).headers[FROM_GATEWAY], undefined, to);
        }
      } finally {
        second.kill('SIGTERM');
        await once(second, 'exit');
        other.remove();
      }
    });

    it('forwards each event of a stream before the next one is sent, without compression', async () => {
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
        // The provider continues only after this has arrived.
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

    it('forwards a large body completely', async () => {
      if (path === null) return;
      const url = `data:image/png;base64,${'A'.repeat(24 * 2 ** 20)}`;
      const content = [{ type: 'image_url', image_url: { url } }];
      const response = await chat({ messages: [{ role: 'user', content }] });
      assert.equal(response.statusCode, 200, await text(response));
      const [received] = gateway.provider.requests.slice(-1);
      assert.ok(received!.body.length > url.length);
    });

    it('forwards the client’s address to the gateway, whatever headers the client sends', async () => {
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
