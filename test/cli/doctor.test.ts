import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { appendFileSync, chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Finding } from '../../src/cli/doctor/doctor-finding.ts';
import { createSealedSecretsStore } from '../../src/config/sealed-secrets/sealed-secrets-store.ts';
import { readSealingKeys } from '../../src/config/sealed-secrets/sealing-keys.ts';
import { createSecrets } from '../../src/config/sealed-secrets/secrets.ts';
import { acquireDataDir, announceGateway } from '../../src/db/data-dir.ts';
import { CERTIFICATE } from '../support/certificate.ts';
import { runCommand } from '../support/command.ts';
import { createBareDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { placeLocal } from '../support/local-database.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { startMailServer } from '../support/mail-server.ts';
import { temporaryDirectory } from '../support/process.ts';

const directory = temporaryDirectory();
const dataDir = join(directory.path, 'data');
after(() => directory.remove());

async function listen(handler: RequestListener): Promise<number> {
  const { port, close } = await listenOnLoopback(createServer(handler));
  after(close);
  return port;
}

async function examine(environment: Record<string, string>, ...given: string[]) {
  const variables = { FAREGATE_DATA_DIR: dataDir, ...environment };
  const { code, stdout } = await runCommand(['doctor', '--json', ...given], variables);
  const findings = JSON.parse(stdout) as Finding[];
  return { code, of: (check: string): Finding | undefined => findings.find((finding) => finding.check === check) };
}

function writeConfig(name: string, providers: string): string {
  const file = join(directory.path, name);
  writeFileSync(file, `server: { port: 0 }\nproviders:\n${providers}`);
  return file;
}

const provider = (name: string, port: number): string =>
  `  ${name}: { protocol: chat, baseUrl: "http://127.0.0.1:${port}/v1", apiKey: the-operators-key }\n`;

describe('faregate doctor', () => {
  /** For tests of other checks: an open server, because a local one takes a second to start. */
  let server: TestDatabase;
  before(async () => {
    placeLocal(dataDir);
    chmodSync(dataDir, 0o700);
    server = await createTestDatabase();
  });
  after(() => server.remove());

  it('finds nothing wrong if a gateway could start', async () => {
    const found = await examine({ PORT: String(await freePort()) });
    assert.equal(found.code, 0);
    for (const check of ['versions', 'configuration', 'data directory', 'disk', 'address', 'database', 'schema']) {
      assert.equal(found.of(check)?.state, 'ok', check);
    }
    const text = await runCommand(['doctor'], { FAREGATE_DATA_DIR: dataDir, PORT: '0' });
    assert.match(text.stdout, /^ok {7}schema {12}all \d+ migrations are applied$/m);
  });

  it('says whether mail is set up and, on request, whether the server accepts connection and sign-in', async () => {
    const mails = await startMailServer();
    after(mails.close);
    const port = await listen((_request, response) => void response.writeHead(401).end());
    const write = (name: string, smtp: string): string => {
      const file = writeConfig(name, provider('acme', port));
      appendFileSync(file, `mail: { smtp: { host: localhost, ${smtp} }, from: gateway@example.com }\n`);
      return file;
    };
    const variables = { DATABASE_URL: server.url };
    const none = await examine(variables, '--config', writeConfig('no-mail.yaml', provider('acme', port)), '--mail');
    assert.match(none.of('mail')!.detail, /^not configured/);
    const ca = JSON.stringify(CERTIFICATE);
    const signIn = `port: ${mails.port}, user: gateway, ca: ${ca}`;
    const file = write('mail.yaml', `${signIn}, password: mail-password`);
    assert.match((await examine(variables, '--config', file)).of('mail')!.detail, /faregate doctor --mail/);
    const checked = await examine(variables, '--config', file, '--mail');
    assert.deepEqual(checked.of('mail'), {
      check: 'mail',
      state: 'ok',
      detail: `localhost:${mails.port} accepts the connection and the sign-in`,
    });
    const refused = await examine(variables, '--config', write('wrong.yaml', `${signIn}, password: not-it`), '--mail');
    assert.equal(refused.code, 1);
    assert.match(refused.of('mail')!.detail, /refuses the sign-in \(EAUTH, 535\)/);
    const gone = write('gone.yaml', `port: ${await freePort()}, tls: none`);
    assert.match((await examine(variables, '--config', gone, '--mail')).of('mail')!.detail, /cannot be used/);
    assert.equal(mails.received.length, 0);
  });

  it('fails if the admin token is a placeholder, and warns of other placeholders', async () => {
    const port = await listen((_request, response) => void response.writeHead(401).end());
    const file = writeConfig('placeholders.yaml', provider('acme', port).replace('the-operators-key', 'replace-me'));
    const variables = { DATABASE_URL: server.url, FAREGATE_ADMIN_TOKEN: 'replace-me-by-openssl-rand' };
    const found = await examine(variables, '--config', file);
    assert.equal(found.code, 1);
    assert.equal(found.of('admin token')?.state, 'failed');
    assert.match(found.of('admin token')!.detail, /is a placeholder/);
    assert.equal(found.of('secrets')?.state, 'warning');
    assert.match(found.of('secrets')!.detail, /^providers\.acme\.apiKey: /);
  });

  it('warns of sealed secrets that the keys in the environment do not open', async () => {
    const port = await listen((_request, response) => void response.writeHead(401).end());
    const config = writeConfig('sealed.yaml', provider('acme', port).replace('the-operators-key', '{ secret: acme }'));
    const [old, key] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
    const sealed = async (keys: string) => {
      const found = await examine({ DATABASE_URL: server.url, FAREGATE_SECRETS_KEY: keys }, '--config', config);
      return found.of('sealed secrets');
    };
    assert.deepEqual(await sealed(key), {
      check: 'sealed secrets',
      state: 'failed',
      detail: 'no such secret: a credential of acme',
      advice: 'Set it: faregate secret set NAME',
    });
    const store = createSealedSecretsStore(inOneDatabase(server.database).directory);
    const set = (keys: string) =>
      createSecrets({ store, keys: () => readSealingKeys({ FAREGATE_SECRETS_KEY: keys }) }).set(
        'acme',
        'canary-text',
        'test',
      );
    await set(old);
    const { state, detail, advice } = (await sealed(''))!;
    assert.deepEqual([state, detail], ['warning', '1 of 1 cannot be opened: acme']);
    assert.match(advice!, /Set FAREGATE_SECRETS_KEY or/);
    assert.match((await sealed(key))!.advice!, /^Add the key/);
    assert.match((await sealed(`${key},${old}`))!.detail, /^1 of 1 are sealed with an earlier key$/);
    assert.match(
      (await sealed(old))!.detail,
      /^1, and this machine can open all of them; backups contain them encrypted/,
    );
    const wrong = (await sealed('canary'))!;
    assert.equal(wrong.state, 'failed');
    assert.ok(!wrong.detail.includes('canary'));
    assert.equal(await store.delete('acme').then((deleted) => deleted?.name), 'acme');
  });

  it('reports a missing database, and creates none', async () => {
    const found = await examine({ FAREGATE_DATA_DIR: join(directory.path, 'none'), PORT: '0' });
    assert.equal(found.code, 0);
    assert.match(found.of('data directory')!.detail, /none is created at the first start$/);
    assert.match(found.of('database')!.detail, /it is created at the first start$/);
  });

  it('connects to providers without their credentials, and names unreachable ones', async () => {
    const seen: unknown[] = [];
    const port = await listen((request, response) => {
      seen.push([request.method, request.url, request.headers.authorization]);
      response.writeHead(401).end();
    });
    const config = writeConfig('providers.yaml', provider('acme', port) + provider('gone', await freePort()));
    const found = await examine({}, '--config', config);
    assert.equal(found.code, 1);
    assert.match(found.of('provider acme')!.detail, /^reached in \d+ ms \(status 401 without a credential\)$/);
    assert.deepEqual(seen, [['HEAD', '/v1', undefined]]);
    assert.deepEqual([found.of('provider gone')!.state, found.of('clock')], ['failed', undefined]);
    assert.match(found.of('provider gone')!.detail, /ECONNREFUSED/);
  });

  it('warns of a clock that differs from the clocks of all providers', async () => {
    const port = await listen((_request, response) => {
      response.writeHead(200, { date: new Date(Date.now() + 3_600_000).toUTCString() }).end();
    });
    const config = writeConfig('clock.yaml', provider('acme', port));
    const found = await examine({}, '--config', config);
    assert.equal(found.code, 0);
    assert.match(found.of('clock')!.detail, /^this machine is (3599|3600) s behind the clocks of the providers$/);
  });

  it('distinguishes a gateway on its port from another program', async () => {
    const other = await listen((_request, response) => response.end('hello'));
    const taken = await examine({ DATABASE_URL: server.url, PORT: String(other) });
    assert.deepEqual([taken.code, taken.of('address')!.state], [1, 'failed']);
    const gateway = await listen((_request, response) => response.end('{"name":"faregate","status":"ok"}'));
    const served = await examine({ DATABASE_URL: server.url, PORT: String(gateway) });
    assert.deepEqual([served.code, served.of('address')!.detail], [0, `a gateway listens on 127.0.0.1:${gateway}`]);
  });

  it('checks the address of the metrics', async () => {
    const other = await listen((_request, response) => response.end('hello'));
    const of = async (metrics: string): Promise<string> => {
      const file = join(directory.path, `${metrics.replace(':', '-')}.yaml`);
      writeFileSync(file, `server: { port: ${other + 1}, metrics: "${metrics}" }\nproviders: {}\n`);
      return (await examine({ DATABASE_URL: server.url }, '--config', file)).of('metrics address')!.detail;
    };
    assert.deepEqual(await Promise.all([`127.0.0.1:${other}`, `127.0.0.1:${other + 1}`].map(of)), [
      `127.0.0.1:${other} is taken by another program`,
      `127.0.0.1:${other + 1} is the address of the gateway itself`,
    ]);
  });

  it('does not open a database that a gateway serves', async () => {
    const served = join(directory.path, 'served');
    placeLocal(served);
    const lock = await acquireDataDir(served);
    try {
      announceGateway(served, {
        url: 'http://127.0.0.1:1',
        adminToken: 'a-token-of-this-machine',
        databaseUrl: 'postgres://',
      });
      const found = await examine({ FAREGATE_DATA_DIR: served, PORT: '0' });
      assert.match(found.of('database')!.detail, /; the gateway on http:\/\/127\.0\.0\.1:1 serves it$/);
    } finally {
      lock.release();
    }
  });

  it('checks the version, schema, durability and clock of a server', async () => {
    await using stored = await createBareDatabase();
    const found = await examine({ DATABASE_URL: stored.url, PORT: '0' });
    assert.equal(found.code, 0);
    assert.match(found.of('database')!.detail, /, PostgreSQL \d+(\.\d+)?, responds in [\d.]+ ms$/);
    assert.match(found.of('schema')!.detail, /^(\d+) of \1 migrations are not applied$/);
    assert.equal(found.of('clock')!.state, 'ok');
    // The server of the tests runs with fsync off.
    assert.equal(found.of('durability')!.state, 'warning');
    assert.match(found.of('durability')!.detail, /fsync = off/);
    assert.equal(found.of('recovery'), undefined, 'only Citus has commits of two phases');
  });

  it('reports an unreachable server without the password of its address', async () => {
    const url = `postgres://user:secret-word@127.0.0.1:${await freePort()}/faregate`;
    const { code, stdout } = await runCommand(['doctor'], { FAREGATE_DATA_DIR: dataDir, DATABASE_URL: url, PORT: '0' });
    assert.equal(code, 1);
    assert.match(stdout, /^FAILED {3}database {10}PostgreSQL.*ECONNREFUSED.*\n {27}Check DATABASE_URL/m);
    assert.ok(!stdout.includes('secret-word'));
  });

  it('reports the first problem of a configuration', async () => {
    const found = await examine({}, '--config', writeConfig('wrong.yaml', '  acme: { protocol: chat }\n'));
    assert.equal(found.code, 1);
    assert.match(found.of('configuration')!.detail, /wrong\.yaml:3: providers\.acme\.\w+: /);
    assert.equal(found.of('database'), undefined);
  });

  it('reports a data directory that cannot be created, because it is a dangling link', async () => {
    const link = join(directory.path, 'link');
    symlinkSync(join(directory.path, 'nowhere'), link);
    const found = await examine({ FAREGATE_DATA_DIR: link, PORT: '0', DATABASE_URL: '' });
    assert.deepEqual([found.code, found.of('data directory')!.state], [1, 'failed']);
    assert.match(found.of('data directory')!.detail, /is a link to .*nowhere/);
  });

  it('warns of a data directory that other users can access', { skip: process.platform === 'win32' }, async () => {
    const open = join(directory.path, 'open');
    placeLocal(open);
    chmodSync(open, 0o755);
    const found = await examine({ FAREGATE_DATA_DIR: open, PORT: '0', DATABASE_URL: '' });
    assert.deepEqual([found.code, found.of('data directory')!.state], [0, 'warning']);
    assert.match(found.of('data directory')!.detail, /\(mode 755\)$/);
  });
});
