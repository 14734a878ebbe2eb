import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { runCommand } from '../support/command.ts';
import { startProgram, temporaryDirectory } from '../support/process.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);

describe('the demo', () => {
  const directory = temporaryDirectory();
  const environment = { PORT: '0', FAREGATE_DATA_DIR: `${directory.path}/data` };
  let demo = startProgram(['serve'], { environment, directory: directory.path });
  let printed = '';
  const startedAtMs = Date.now();

  before(async () => {
    printed = await demo.printed(/Ctrl-C/);
  });
  after(async () => {
    demo.child.kill('SIGINT');
    await demo.finished;
    directory.remove();
  });

  const keyIn = (text: string): string => /API key +(sk-fg-\w+)/.exec(text)![1]!;
  const cli = (...given: string[]) => runCommand([...given, '--json'], environment);

  it('prints its address as one line on standard output', () => {
    assert.match(printed, /^listening on http:\/\/127\.0\.0\.1:\d+$/m);
  });

  it('prints three commands that work unchanged', async () => {
    const commands = [...printed.matchAll(/^ {2}(curl (?:[^\n]*\\\n)*[^\n]*)$/gm)].map((match) => match[1]!);
    assert.equal(commands.length, 3);
    const [chat, messages, balance] = await Promise.all(
      commands.map(async (command) => (await run('bash', ['-c', command.replace('curl', 'curl -sS')])).stdout),
    );
    assert.match(chat!, /data: \[DONE\]\n\n$/);
    assert.match(messages!, /event: message_stop\ndata: .*\n\n$/);
    const left = JSON.parse(balance!);
    assert.equal(left.unit, 'CNY');
    assert.ok(left.balance > 99 && left.balance <= 100);
  });

  it('charges the calls to the demo account, and other terminals can list them', async () => {
    const account = JSON.parse((await cli('account', 'show', 'demo')).stdout);
    assert.ok(Number(account.balanceYuan) < 100);
    const all = JSON.parse((await cli('calls', '--account', 'demo', '--limit', '100')).stdout);
    // The older calls are those of the demo's month.
    const calls = all.filter((call: { startedAt: string }) => Date.parse(call.startedAt) >= startedAtMs);
    assert.equal(calls.length, 2);
    assert.ok(all.length > calls.length);
    assert.deepEqual(
      new Set(calls.map((call: { model: string }) => call.model)),
      new Set(['demo-chat', 'demo-messages']),
    );
    const charged = calls.reduce((sum: number, call: { chargeYuan: string }) => sum + Number(call.chargeYuan), 0);
    assert.equal((100 - charged).toFixed(9), Number(account.balanceYuan).toFixed(9));
    const audit = await cli('audit');
    assert.equal(audit.code, 0);
    assert.equal(JSON.parse(audit.stdout).isSound, true);
  });

  it('prints a sign-in for its operator, who also owns its account', async () => {
    const url = /^listening on (.*)$/m.exec(printed)![1]!;
    assert.ok(printed.includes(`console                  ${url}/console\n`), printed);
    const [, name, password] = /user and password +(\S+) +(\S+)/.exec(printed)!;
    const signIn = await fetch(`${url}/account/v1/sessions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ user: name, password }),
    });
    assert.equal(signIn.status, 201, await signIn.text());
    const cookie = signIn.headers.get('set-cookie')!.split(';')[0]!;
    const ask = async (path: string): Promise<{ readonly name: string; readonly data: unknown[] }> => {
      const response = await fetch(url + path, { headers: { cookie, 'sec-fetch-site': 'same-origin' } });
      assert.equal(response.status, 200);
      return (await response.json()) as { name: string; data: unknown[] };
    };
    assert.equal((await ask('/admin/v1/accounts')).data.length, 5);
    assert.equal((await ask('/account/v1/account')).name, 'demo');
  });

  it('lists models that have a date of release', async () => {
    const url = /^listening on (.*)$/m.exec(printed)![1]!;
    const key = /API key +(sk-fg-\w+)/.exec(printed)![1]!;
    const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    const { data } = (await response.json()) as { data: { created: number }[] };
    assert.equal(data.length, 5);
    assert.ok(
      data.every(({ created }) => created > 0),
      JSON.stringify(data),
    );
  });

  it('has the data of a month, created once', async () => {
    const readUsage = async () => (await cli('usage', '--group-by', 'model')).stdout;
    // The demo's month is summed day by day while the demo serves.
    await until(async () => (await readUsage()).includes('demo-images'), 'the sums of usage lack the images');
    const names = JSON.parse((await cli('account', 'list')).stdout).map((account: { name: string }) => account.name);
    assert.equal(names.length, 5);
    assert.equal((await cli('audit')).code, 0);
  });

  it('makes a second gateway on the same data directory wait, says for what, and stops it at a signal', async () => {
    const second = startProgram(['serve'], { environment, directory: directory.path });
    await second.printed(
      /Waiting up to 10 seconds for process \d+ \(listening on http:.*to release the data directory/,
    );
    second.child.kill('SIGTERM');
    const { code, stderr } = await second.finished;
    assert.equal(code, 0, stderr);
    assert.match(stderr, /the gateway was stopped before it was ready/);
    assert.doesNotMatch(stderr, /is in use/);
  });

  it('refuses a second gateway on the same data directory, and says what to do', async () => {
    const second = await runCommand(['serve'], environment);
    assert.equal(second.code, 5);
    assert.match(second.stderr, /in use by process \d+ \(listening on http:.*DATABASE_URL/s);
  });

  const balanceYuan = async (): Promise<string> =>
    JSON.parse((await cli('account', 'show', 'demo')).stdout).balanceYuan;

  it('stops its simulated provider when it is killed, and keeps data and key', async () => {
    const { stdout } = await run('pgrep', ['-P', String(demo.child.pid), '-f', 'simulator']);
    const simulator = Number(stdout.trim());
    assert.ok(simulator > 0);
    const before = await balanceYuan();
    demo.child.kill('SIGKILL');
    await demo.finished;
    // The simulator exits when the channel to its parent closes; this waits for that.
    const tail = startTail(simulator);
    await once(tail, 'exit');
    demo = startProgram(['serve'], { environment, directory: directory.path });
    assert.equal(keyIn(await demo.printed(/Ctrl-C/)), keyIn(printed));
    assert.equal(await balanceYuan(), before);
  });

  it('completes a stream in flight before it stops, and loses nothing', async () => {
    const url = /^listening on (.*)$/m.exec(await demo.printed(/Ctrl-C/))![1]!;
    const before = await balanceYuan();
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keyIn(printed)}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'demo-chat', stream: true, messages: [{ role: 'user', content: 'wait for me' }] }),
    });
    const reader = response.body!.getReader();
    let text = Buffer.from((await reader.read()).value!).toString();
    demo.child.kill('SIGINT');
    for (let part = await reader.read(); !part.done; part = await reader.read())
      text += Buffer.from(part.value).toString();
    assert.match(text, /\[DONE\]\n\n$/);
    assert.equal((await demo.finished).code, 0);
    const id = response.headers.get('x-faregate-call-id');
    const [last] = JSON.parse((await cli('calls', '--account', 'demo', '--limit', '1')).stdout);
    assert.deepEqual([last.id, last.status], [id, 'succeeded']);
    const chargeYuan = Number(before) - Number(await balanceYuan());
    assert.equal(chargeYuan.toFixed(9), Number(last.chargeYuan).toFixed(9));
  });
});

/** Resolves when the process has exited. */
function startTail(pid: number): ChildProcess {
  return spawn('tail', ['--pid', String(pid), '-s', '0.1', '-f', '/dev/null'], { stdio: 'ignore' });
}
