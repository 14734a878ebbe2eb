import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readCredentialOutput } from './credential-output.ts';
import { RenewedCredential, renewalDelayMs, retryDelayMs, runCommand } from './renewed-credential.ts';

const NOW_MS = Date.UTC(2026, 10, 30, 12);
const COMMAND = { run: ['print'], every: 900_000, renewBefore: 300_000, timeout: 30_000 };

describe('the output of a credential command', () => {
  const HOUR_MS = NOW_MS + 3_600_000;
  const cases: readonly [output: string, value: string, expiresAtMs: number | null][] = [
    ['ya29.token\n', 'ya29.token', null],
    ['{"access_token":"a","expires_in":3600,"token_type":"Bearer"}', 'a', HOUR_MS],
    ['{"accessToken":"a","expiresOn":"2026-11-30 13:00:00.000000","expires_on":1796043600}', 'a', HOUR_MS],
    ['{"token":"a","expiration":"2026-11-30T13:00:00Z"}', 'a', HOUR_MS],
    [
      '{"kind":"ExecCredential","status":{"token":"a","expirationTimestamp":"2026-11-30T14:00:00+01:00"}}',
      'a',
      HOUR_MS,
    ],
    ['{"token":"a","expiresOn":"2026-11-30 13:00:00.000000"}', 'a', null],
    ['{"token":"a","expires_in":9223372036854775807}', 'a', null],
    ['{"token":"a","expires_at":1796043600000}', 'a', null],
  ];
  for (const [output, value, expiresAtMs] of cases) {
    it(`is read from ${output.trim()}`, () =>
      assert.deepEqual(readCredentialOutput(output, NOW_MS), { value, expiresAtMs }));
  }

  it('is refused without showing it if it is no credential', () => {
    for (const output of [
      '',
      ' \n',
      '{"error":"canary"}',
      'two words canary',
      '{"token":"canary","expires_on":1796030000}',
      'canary'.repeat(9_000),
    ]) {
      assert.throws(
        () => readCredentialOutput(output, NOW_MS),
        (error: Error) => !error.message.includes('canary'),
        output,
      );
    }
  });
});

describe('a credential that is renewed', () => {
  it('is renewed before its expiry, and tried again later and later after failures', () => {
    assert.equal(renewalDelayMs(null, COMMAND, NOW_MS), 900_000);
    assert.equal(renewalDelayMs(NOW_MS + 3_600_000, COMMAND, NOW_MS), 3_300_000);
    assert.equal(renewalDelayMs(NOW_MS + 60_000, COMMAND, NOW_MS), 30_000, 'it is shorter than the time before');
    assert.deepEqual([1, 2, 3, 20].map(retryDelayMs), [1_000, 2_000, 4_000, 60_000]);
  });

  /** A command whose outputs a test decides, and a clock. */
  function scene() {
    const state = { nowMs: NOW_MS, runs: [] as PromiseWithResolvers<string>[] };
    const credential = new RenewedCredential(COMMAND, { nowMs: () => state.nowMs }, () => {
      const run = Promise.withResolvers<string>();
      state.runs.push(run);
      return run.promise;
    });
    return { state, credential };
  }

  it('has one command at a time: all calls wait for it, and use the old value while it is valid', async () => {
    const { state, credential } = scene();
    const waiting = [credential.available(), credential.available()];
    assert.equal(state.runs.length, 1);
    state.runs[0]!.resolve('{"token":"one","expires_in":600}');
    await Promise.all(waiting);
    assert.equal(credential.value, 'one');
    const renewing = credential.renew();
    assert.equal(state.runs.length, 2);
    await credential.available();
    assert.equal(credential.value, 'one');
    state.nowMs += 600_000;
    assert.equal(credential.value, null, 'it has expired');
    state.runs[1]!.resolve('{"token":"two","expires_in":600}');
    await renewing;
    assert.equal(credential.value, 'two');
    credential.stop();
  });

  it('fails calls at once while a failed command is not tried again, and keeps a valid value', async () => {
    const { state, credential } = scene();
    const failing = credential.available();
    state.runs[0]!.resolve('');
    await assert.rejects(failing, /printed no credential/);
    await assert.rejects(credential.available(), /printed no credential/);
    assert.equal(state.runs.length, 1);
    assert.equal(credential.triedAgainAtMs, NOW_MS + 1_000);
    state.nowMs += 1_000;
    const again = credential.available();
    state.runs[1]!.resolve('one');
    await again;
    assert.deepEqual([credential.value, credential.triedAgainAtMs], ['one', null]);
    const renewing = credential.renew();
    state.runs[2]!.resolve('');
    await assert.rejects(renewing);
    assert.equal(credential.value, 'one');
    credential.stop();
  });

  it('is renewed if the provider refuses it, unless it is new, and never used again', async () => {
    const { state, credential } = scene();
    const first = credential.available();
    state.runs[0]!.resolve('one');
    await first;
    credential.refused('one');
    assert.deepEqual([credential.value, state.runs.length], ['one', 1], 'a refusal of a new one is about the account');
    state.nowMs += 60_000;
    credential.refused('another');
    credential.refused('one');
    assert.deepEqual([credential.value, state.runs.length], [null, 2]);
    state.runs[1]!.resolve('one');
    await assert.rejects(credential.available(), /has refused/);
    state.nowMs += 1_000;
    const renewed = credential.available();
    state.runs[2]!.resolve('two');
    await renewed;
    assert.equal(credential.value, 'two');
    credential.stop();
  });

  it('comes from a program without a shell, which does not get the secrets of the gateway', async () => {
    process.env.FAREGATE_CANARY = 'canary';
    const print = (code: string, ...args: string[]) =>
      runCommand({ ...COMMAND, run: [process.execPath, '-e', code, ...args] });
    const code = 'console.log(process.argv[1] + process.env.FAREGATE_CANARY + typeof process.env.PATH)';
    assert.equal(await print(code, '$(x) *'), '$(x) *undefinedstring\n');
    delete process.env.FAREGATE_CANARY;
    await assert.rejects(print('process.exit(3)'), /^CredentialCommandError: The command ended with exit code 3\.$/);
    await assert.rejects(print('console.log("x".repeat(1e6))'), /exceeds 64 KiB/);
    await assert.rejects(runCommand({ ...COMMAND, run: ['/nowhere/at/all'] }), /could not be run \(ENOENT\)/);
    const slow = [process.execPath, '-e', 'setInterval(() => {}, 1000)'];
    await assert.rejects(runCommand({ ...COMMAND, run: slow, timeout: 50 }), /took too long/);
  });
});
