import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { CLIENTS } from '../../console/src/features/quickstart/settings.ts';
import type { Wanted } from '../../console/src/features/quickstart/wanted.ts';
import { chatBase } from '../../console/src/parts/calling/call-target.ts';
import { SYSTEMS, type System } from '../../console/src/parts/calling/post.ts';
import { EndedEarly, streamedText } from '../../console/src/parts/calling/streamed-text.ts';
import { responseAnything } from '../conformance/addresses.ts';
import { plansText, subscribe } from '../conformance/plans.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { pythonEnvironment } from '../support/python.ts';
import { inFullRunsOnly, propertyRuns } from '../support/scope.ts';

const CHAT = [
  'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\r\n\r\n',
  ': a comment\n\ndata: {"choices":[{"delta":{"content":"你好, "}}]}\n\n',
  'data: {"choices":[{"delta":\ndata: {"content":"world"}}]}\n\ndata: {"choices":[],"usage":{}}\n\ndata: [DONE]\n\n',
].join('');
const MESSAGES = [
  'event: message_start\ndata: {"type":"message_start","message":{}}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"?"}}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"你好, world"}}\n\n',
  'event: message_stop\ndata: {"type":"message_stop"}\n\n',
].join('');

/** Text of the scripted provider's responses, streaming or not. */
const ANSWERED = /Hello|Hi|你好|\bpong\b/;

/** Settings that this test runs. `npm run agents` runs agents. */
const RUN = /curl|JavaScript|Python/;
/** The vendors' SDKs, installed in full runs only. */
const python = inFullRunsOnly ? null : pythonEnvironment('python-sdks-1', ['openai==3.51.0', 'anthropic==2.10.0']);

describe('the quickstart', () => {
  it('reads the text of both protocols, wherever chunks are cut', async () => {
    const cuts = fc.array(fc.nat({ max: 300 }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(cuts, fc.constantFrom(CHAT, MESSAGES), async (places, stream) => {
        let text = '';
        for await (const part of streamedText(cutBytes(new TextEncoder().encode(stream), places))) text += part;
        assert.equal(text, '你好, world');
      }),
      { numRuns: propertyRuns(150) },
    );
  });

  it("an error in the stream ends it with the gateway's message", async () => {
    const stream = 'data: {"error":{"message":"the provider went away"}}\n\n';
    await assert.rejects(async () => {
      for await (const _ of streamedText(cutBytes(new TextEncoder().encode(stream), [])))
        assert.fail('no text was sent');
    }, /the provider went away/);
  });

  const cutAfter = (stream: string, length: number) => async () => {
    const bytes = new TextEncoder().encode(stream).slice(0, length);
    for await (const part of streamedText(cutBytes(bytes, []))) assert.notEqual(part, '');
  };

  it('a stream cut before the end of its last event has ended early', async () => {
    for (const [stream, end] of [
      [CHAT, '[DONE]'],
      [MESSAGES, '{"type":"message_stop"}'],
    ] as const) {
      const whole = new TextEncoder().encode(stream.slice(0, stream.indexOf(end) + end.length)).length;
      for (let length = 0; length < whole; length++) {
        await assert.rejects(cutAfter(stream, length), EndedEarly, `${end}: cut after ${length} of ${whole} bytes`);
      }
      await cutAfter(stream, whole)();
    }
  });

  it('a stream that ends after its finish reason is complete', async () => {
    const text = 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":""}]}\n\n';
    const finish = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
    await cutAfter(text + finish, Number.POSITIVE_INFINITY)();
    await assert.rejects(cutAfter(text, Number.POSITIVE_INFINITY), EndedEarly);
  });

  it('a lost connection ends the response early, after the received text', async () => {
    const [first = ''] = MESSAGES.split('event: message_stop');
    let isSent = false;
    const lost = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (isSent) controller.error(new TypeError('network error'));
        else controller.enqueue(new TextEncoder().encode(first));
        isSent = true;
      },
    });
    let text = '';
    const read = async () => {
      for await (const part of streamedText(lost)) text += part;
    };
    await assert.rejects(read, EndedEarly);
    assert.equal(text, '你好, world');
  });

  describe('settings', () => {
    let server: TestGateway;
    let account: TestAccount;
    let directory: string;
    before(async () => {
      server = await startGateway({ plans: plansText({ starter: {} }) });
      server.provider.respond = responseAnything;
      account = await server.createAccount();
      await subscribe(server, account, 'starter');
      // Inside the project, so that its packages resolve.
      directory = mkdtempSync(join('node_modules', '.quickstart-'));
    });
    after(async () => {
      await server?.stop();
      rmSync(directory, { recursive: true, force: true });
    });

    const WANTED: Wanted = {
      origin: 'https://gate.example',
      context: 'coding',
      model: 'acme-coder',
      key: 'sk-fg-0',
      system: 'unix',
      messagesName: 'altproto',
      contextTokens: 200_000,
      outputTokens: 64_000,
    };
    const textOf = (name: string, system: System): string =>
      CLIENTS.find((client) => client.name === name)!
        .settings({ ...WANTED, system })
        .map((setting) => ('form' in setting ? setting.fields.flat().join('\n') : `${setting.file}\n${setting.code}`))
        .join('\n');

    it('of a client that no test runs name the date and source of their check', () => {
      for (const { name, checked } of CLIENTS) {
        assert.equal(checked === null, RUN.test(name), name);
        if (checked !== null) assert.match(`${checked.on} ${checked.against}`, /^2\d{3}-\d\d-\d\d \S+/, name);
      }
    });

    it('of every client contain address, key and model, without syntax of other systems', () => {
      for (const { name, operation } of CLIENTS) {
        const base =
          operation === 'messages' ? 'https://gate.example/altproto/coding' : 'https://gate.example/v1/coding';
        for (const system of SYSTEMS) {
          const text = textOf(name, system);
          for (const part of [base, WANTED.key]) assert.ok(text.includes(part), `${name}, ${system}: ${part}\n${text}`);
          // An Open WebUI connection uses all models that the gateway lists.
          if (name !== 'Open WebUI') assert.ok(text.includes(WANTED.model), `${name}, ${system}`);
          if (system !== 'unix') assert.doesNotMatch(text, /^export |~\/|\\$/m, `${name}, ${system}`);
        }
      }
    });

    it('set the key for the current and later terminals on Windows', () => {
      assert.match(textOf('Codex', 'unix'), /^export FAREGATE_KEY=sk-fg-0$/m);
      assert.match(
        textOf('Codex', 'powershell'),
        /^\$env:FAREGATE_KEY = 'sk-fg-0'\nsetx FAREGATE_KEY \$env:FAREGATE_KEY$/m,
      );
      assert.match(textOf('Codex', 'cmd'), /^set "FAREGATE_KEY=sk-fg-0"\nsetx FAREGATE_KEY "%FAREGATE_KEY%"$/m);
      assert.match(textOf('Codex', 'cmd'), /^%USERPROFILE%\\\.codex\\config\.toml$/m);
    });

    it('of Claude Code map every model alias to a model of the gateway', () => {
      const { env } = JSON.parse(textOf('Claude Code', 'unix').replace(/^.*\n/, ''));
      const aliases = ['OPUS', 'SONNET', 'HAIKU', 'FABLE'].map((alias) => `ANTHROPIC_DEFAULT_${alias}_MODEL`);
      for (const name of ['ANTHROPIC_MODEL', ...aliases, 'CLAUDE_CODE_SUBAGENT_MODEL']) {
        assert.equal(env[name], 'acme-coder', name);
      }
    });

    it('give chat clients a base URL with a working list of models', async () => {
      for (const context of ['balance', 'coding'] as const) {
        const base = chatBase({ origin: server.url, context });
        const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' };
        const listed = (await (await fetch(`${base}/models`, { headers })).json()) as { data: { id: string }[] };
        assert.ok(listed.data.some(({ id }) => id === 'test-chat'));
        const body = JSON.stringify({ model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] });
        const called = await fetch(`${base}/chat/completions`, { method: 'POST', headers, body });
        await called.arrayBuffer();
        assert.equal(called.status, 200);
      }
    });

    for (const { name, settings, operation } of CLIENTS.filter(({ name: each }) => RUN.test(each))) {
      const skip = name.includes('Python') && (inFullRunsOnly || (python?.missing ?? false));
      it(`of ${name} make a call on the balance and one on the Coding Plan`, { skip }, async () => {
        const contexts = ['balance', 'coding'] as const;
        const files = contexts.map((context) => {
          const wanted: Wanted = {
            origin: server.url,
            context,
            model: operation === 'messages' ? 'test-messages' : 'test-chat',
            key: account.key,
            system: 'unix',
            messagesName: 'altproto',
            contextTokens: null,
            outputTokens: null,
          };
          const setting = settings(wanted).at(-1)!;
          assert.ok('code' in setting);
          const { file, code } = setting;
          const path = resolve(directory, `${context}-${file ?? 'run.sh'}`);
          writeFileSync(path, code);
          return path;
        });
        const { stdout } = await run(...programFor(files));
        const printed = stdout.split(BETWEEN);
        assert.equal(printed.length, contexts.length + 1, stdout);
        for (const text of printed.slice(0, -1)) assert.match(text, ANSWERED);
        const calls = (await server.admin('GET', `/calls?accountId=${account.id}&limit=2`)).body.data;
        assert.deepEqual(
          calls.map(({ context, status }: { context: string; status: string }) => [context, status]),
          contexts.toReversed().map((context) => [context, 'succeeded']),
        );
      });
    }
  });
});

const run = promisify(execFile);

/** Printed after each file. */
const BETWEEN = '-- and now the next --';

/** Runs all files in one process, because loading the SDK takes most of the time. */
function programFor(files: readonly string[]): [program: string, given: string[]] {
  if (files[0]!.endsWith('.sh'))
    return ['sh', ['-c', `for file; do sh "$file"; echo "${BETWEEN}"; done`, 'sh', ...files]];
  if (files[0]!.endsWith('.py')) {
    const each = `import runpy, sys\nfor path in sys.argv[1:]: runpy.run_path(path); print("${BETWEEN}")`;
    return [python!.program('python'), ['-c', each, ...files]];
  }
  const each = `for (const path of process.argv.slice(1)) { await import(path); console.log('${BETWEEN}'); }`;
  return [process.execPath, ['--input-type=module', '-e', each, ...files]];
}

/** A stream of the bytes in chunks cut at the given places. */
function cutBytes(bytes: Uint8Array, places: readonly number[]): ReadableStream<Uint8Array> {
  const cuts = [0, ...places.filter((place) => place < bytes.length).sort((a, b) => a - b), bytes.length];
  return new ReadableStream({
    start(controller) {
      for (let i = 1; i < cuts.length; i++) controller.enqueue(bytes.slice(cuts[i - 1], cuts[i]));
      controller.close();
    },
  });
}
