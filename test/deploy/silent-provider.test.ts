import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { call, collect } from '../support/client.ts';
import { families } from '../support/families.ts';
import { freePort } from '../support/free-port.ts';
import { assertSpent, costNano, PRICE, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { temporaryDirectory } from '../support/process.ts';
import { json, sse } from '../support/provider.ts';
import { findTool, skipOrFail } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** The example configuration of nginx with a timeout of five seconds, and a provider that is silent for twelve. */

const SILENCE_MS = 12_000;

const CHANGES = [
  ['proxy_read_timeout 1h;', 'proxy_read_timeout 5s;'],
  ['ssl_certificate /etc/ssl/faregate/certificate.pem;', ''],
  ['ssl_certificate_key /etc/ssl/faregate/key.pem;', ''],
] as const;

describe('nginx that closes silent connections', { timeout: 120_000 }, () => {
  const nginx = findTool('nginx');
  const directory = temporaryDirectory();
  let gateway: TestGateway;
  let account: TestAccount;
  let child: ChildProcess | undefined;
  let url: string;

  before(async () => {
    if (nginx === null) return;
    const routes = '[{ provider: chatty, model: slow }, { provider: messy, model: slow }]';
    gateway = await startGateway({
      server: 'trustedProxies: [127.0.0.1]',
      models: `
  slow: { operations: [chat, messages], price: ${PRICE}, routes: ${routes}, keepAlive: { before: 2s } }`,
    });
    account = await gateway.createAccount();
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    let site = readFileSync(fileURLToPath(new URL('../../deploy/nginx/faregate.conf', import.meta.url)), 'utf8');
    const changes = [
      ...CHANGES,
      ['listen 443 ssl http2;', `listen 127.0.0.1:${port};`],
      ['server 127.0.0.1:8080;', `server ${new URL(gateway.url).host};`],
    ] as const;
    for (const [old, changed] of changes) {
      assert.ok(site.includes(old), old);
      site = site.replaceAll(old, changed);
    }
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${directory.path}/${name};`)
      .join('\n');
    const file = join(directory.path, 'nginx.conf');
    writeFileSync(
      file,
      // As root, its workers would run as a user without access to the directory.
      `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; worker_processes 1; pid ${directory.path}/pid;
      error_log stderr warn; events {} http { access_log off; ${paths}\n${site} }`,
    );
    child = spawn(nginx, ['-e', 'stderr', '-p', directory.path, '-c', file], { stdio: 'ignore' });
    await until(async () => (await fetch(`${url}/healthz`).catch(() => null))?.status === 200);
  });
  after(async () => {
    if (child !== undefined && child.exitCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await gateway?.stop();
    directory.remove();
  });

  it('passes streams of both families completely, and cuts a whole response', async (t) => {
    if (nginx === null) {
      skipOrFail(t as TestContext, 'nginx is not installed');
      return;
    }
    gateway.provider.respond = (request, response) => {
      const family = families.find(({ path }) => path.endsWith(request.path.replace('/v1', '')))!;
      const { stream } = JSON.parse(request.body.toString()) as { stream?: boolean };
      const respond = stream ? sse(family.stream(['Hello', ' there'])) : json(200, family.whole());
      setTimeout(() => void respond(request, response), SILENCE_MS);
    };
    const chat = new OpenAI({ apiKey: account.key, baseURL: `${url}/v1`, maxRetries: 0 });
    const messages = new Anthropic({ apiKey: account.key, baseURL: url, maxRetries: 0 });
    const question = { model: 'slow', max_tokens: 50, messages: [{ role: 'user' as const, content: 'Say hello.' }] };
    const [ofChat, ofMessages, whole] = await Promise.all([
      chat.chat.completions.create({ ...question, stream: true }).then(collect),
      messages.messages.stream(question).finalMessage(),
      call(`${url}/v1/chat/completions`, account.key, question),
    ]);
    assert.equal(ofChat.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'Hello there');
    assert.equal(ofChat.at(-1)!.choices[0]!.finish_reason, 'stop');
    assert.deepEqual(
      ofMessages.content.map((block) => block.type === 'text' && block.text),
      ['Hello there'],
    );
    // A status 200 before an error would look like a success, so nothing is sent before the response is complete.
    assert.equal(whole.status, 504);
    assert.match(whole.text, /nginx/);
    // The whole response has no client any more, but the provider carried it out.
    await account.endedCall(3);
    await assertSpent(account, 3n * costNano({ input: 11, output: 7 }));
  });
});
