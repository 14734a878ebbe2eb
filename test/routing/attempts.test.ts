import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type ClientResponse, call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { begunStream, families, modesOf, requestOf } from '../support/families.ts';
import { PRICE, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { createPerson, type TestPerson } from '../support/people.ts';
import { json, liveResponse, type Respond, type ScriptedProvider, sse, startProvider } from '../support/provider.ts';

/** What the record of a call says about its failed attempts, to operators and to account holders. */

const OVERLOADED = 'The engine is overloaded';
const overloaded = { error: { message: OVERLOADED, type: 'server_error' } };

/** Members of an attempt that a test expects. */
interface Expected {
  readonly provider: string;
  readonly model?: string;
  readonly failure: string | null;
  readonly httpStatus?: number | null;
  readonly words?: string | RegExp | null;
  readonly isPrivate?: boolean;
}

const clock = createTestClock('2026-11-20T04:00:00Z');
/** A refused credential is used again after this time. */
const REST_MS = 11 * 60_000;

describe('attempts of a call', { timeout: 120_000 }, () => {
  let gateway: TestGateway;
  let other: ScriptedProvider;
  let account: TestAccount;
  let owner: TestPerson;
  let closeSilent: () => Promise<void>;

  before(async () => {
    other = await startProvider();
    const silent = await listenOnLoopback(createServer((socket) => void socket.on('error', () => undefined).resume()));
    closeSilent = silent.close;
    const routes = (...names: readonly string[]): string =>
      names
        .flatMap((name, priority) =>
          ['chat', 'messages'].map(
            (family) => `{ provider: ${name}-${family}, model: ${name}-m, priority: ${priority} }`,
          ),
        )
        .join(', ');
    const provider = (name: string, url: string, fields = ''): string => `
  ${name}-chat: { protocol: chat, baseUrl: "${url}/v1", apiKeys: [${name}-secret-1, ${name}-secret-2], ${fields} }
  ${name}-messages: { protocol: messages, baseUrl: "${url}", apiKeys: [${name}-secret-3, ${name}-secret-4], ${fields} }`;
    gateway = await startGateway({
      clock,
      providers: [
        provider('other', other.url),
        provider('away', 'http://127.0.0.1:1'),
        provider('silent', `http://127.0.0.1:${silent.port}`, 'timeouts: { firstByte: 50ms }'),
      ].join(''),
      models: `
  pair: { operations: [chat, messages], price: ${PRICE}, routes: [${routes('away', 'other')}] }
  single: { operations: [chat, messages], price: ${PRICE}, routes: [${routes('other')}] }
  then-away: { operations: [chat, messages], price: ${PRICE}, routes: [${routes('other', 'away')}] }
  late: { operations: [chat, messages], price: ${PRICE}, routes: [${routes('silent')}] }`,
    });
  });
  after(async () => {
    await gateway?.stop();
    await other?.close();
    await closeSilent?.();
  });
  beforeEach(async () => {
    clock.advance(REST_MS);
    account = await gateway.createAccount();
    owner = await createPerson(gateway, { memberships: [{ accountId: account.id, role: 'owner' }] });
  });

  for (const family of families) {
    for (const { kind, isStream } of modesOf(family)) {
      describe(`${family.name}, ${kind}`, () => {
        const send = (model: string): Promise<ClientResponse> =>
          call(gateway.url + family.path, account.key, requestOf(isStream, model));
        const success = (): Respond => (isStream ? sse(family.stream(['Hello'])) : json(200, family.whole()));

        /** Asserts the attempts of the account's call, and what an owner sees of them. */
        async function assertAttempts(...expected: readonly Expected[]): Promise<void> {
          const { id, attempts } = await account.endedCall();
          assert.equal(attempts.length, expected.length, JSON.stringify(attempts));
          for (const [
            i,
            { provider, model, failure, httpStatus = null, words = null, ...more },
          ] of expected.entries()) {
            const attempt = attempts[i];
            const { isPrivate = false } = more;
            assert.deepEqual(
              [attempt.no, attempt.provider, attempt.model, attempt.failure, attempt.httpStatus, attempt.isPrivate],
              [i + 1, `${provider}-${family.name}`, model ?? `${provider}-m`, failure, httpStatus, isPrivate],
              JSON.stringify(attempts),
            );
            if (words instanceof RegExp) assert.match(attempt.words, words);
            else assert.equal(attempt.words, words);
            assert.match(attempt.credential, /^apiKeys\.[01]$/);
            assert.ok(attempt.durationMs >= 0 && attempt.startedMs >= 0);
          }
          const own = await owned(id);
          assert.deepEqual(
            own.attempts,
            attempts.map(({ no, startedMs, durationMs, failure, httpStatus, words, isPrivate }: Attempt) => ({
              no,
              startedMs,
              durationMs,
              failure,
              httpStatus: isPrivate ? null : httpStatus,
              words: isPrivate ? null : words,
            })),
          );
          assert.doesNotMatch(JSON.stringify(own), /other-|away-|silent-|apiKey|127\.0\.0\.1/);
        }

        for (const status of [500, 503]) {
          it(`a ${status} has the provider's words`, async () => {
            other.respond = json(status, overloaded);
            assert.equal((await send('single')).status, status);
            await assertAttempts({ provider: 'other', failure: 'refused', httpStatus: status, words: OVERLOADED });
          });
        }

        it('a 401 is tried with each credential, and is only for operators', async () => {
          other.respond = json(401, { error: { message: 'No such organization: acme-42.' } });
          assert.equal((await send('single')).status, 502);
          const refused = { provider: 'other', failure: 'account', httpStatus: 401, isPrivate: true } as const;
          const words = 'No such organization: acme-42.';
          await assertAttempts({ ...refused, words }, { ...refused, words });
          assert.notEqual(...(await credentials()));
        });

        it('after a refused connection, the route that answered is the second attempt', async () => {
          other.respond = success();
          assert.equal((await send('pair')).status, 200);
          await assertAttempts(
            { provider: 'away', failure: 'connection', words: /ECONNREFUSED \[provider\]/, isPrivate: true },
            { provider: 'other', failure: null },
          );
        });

        it('two failed routes have two attempts', async () => {
          other.respond = json(503, overloaded);
          await send('pair');
          await assertAttempts(
            { provider: 'away', failure: 'connection', words: /ECONNREFUSED/, isPrivate: true },
            { provider: 'other', failure: 'refused', httpStatus: 503, words: OVERLOADED },
          );
        });

        it('a timeout', async () => {
          assert.equal((await send('late')).status, 504);
          await assertAttempts({ provider: 'silent', failure: 'timeout', words: /TIMEOUT/, isPrivate: true });
        });

        it('an error with status 200', async () => {
          other.respond = json(200, overloaded);
          await send('single');
          await assertAttempts({ provider: 'other', failure: 'refused', httpStatus: 200, words: OVERLOADED });
        });

        it('secrets of the gateway in the words do not arrive', async () => {
          const secret = `other-secret-${family.name === 'chat' ? 1 : 3}`;
          const message = `Bad key ${secret} at ${other.url}/v1, or sk-abcdefgh12345678.`;
          other.respond = json(500, { error: { message } });
          await send('single');
          const words = 'Bad key [provider] at [address] or [key].';
          await assertAttempts({ provider: 'other', failure: 'refused', httpStatus: 500, words });
        });

        it('a call that succeeds at its first attempt has none', async () => {
          other.respond = success();
          await send('single');
          await assertAttempts();
        });

        if (!isStream) return;

        for (const [when, events] of [
          ['as the first event', []],
          ['after output', begunStream(family)],
        ] as const) {
          it(`an error event ${when}`, async () => {
            other.respond = sse([...events, family.errorEvent]);
            await send('single');
            await assertAttempts({ provider: 'other', failure: 'refused', httpStatus: 200, words: 'Overloaded.' });
          });
        }

        it('an overload as the first event, after which another route is tried', async () => {
          other.respond = sse([family.errorEvent]);
          assert.equal((await send('then-away')).status, 502);
          await assertAttempts(
            { provider: 'other', failure: 'refused', httpStatus: 529, words: 'Overloaded.' },
            { provider: 'away', failure: 'connection', words: /ECONNREFUSED/, isPrivate: true },
          );
        });

        it('a stream that breaks off', async () => {
          const live = liveResponse();
          other.respond = live.respond;
          const response = send('single');
          await live.opened;
          for (const event of begunStream(family)) await live.write(event);
          live.reset();
          await response;
          await assertAttempts({ provider: 'other', failure: 'interrupted', words: /./, isPrivate: true });
        });
      });
    }
  }

  async function credentials(): Promise<[string, string]> {
    const { attempts } = await account.lastCall();
    return attempts.map(({ credential }: Attempt) => credential);
  }

  async function owned(id: string) {
    const response = await fetch(`${gateway.url}/account/v1/calls/${id}`, { headers: owner.headers });
    return (await response.json()) as { attempts: readonly Attempt[] };
  }
});

interface Attempt {
  readonly no: number;
  readonly startedMs: number;
  readonly durationMs: number;
  readonly credential: string;
  readonly failure: string | null;
  readonly httpStatus: number | null;
  readonly words: string | null;
  readonly isPrivate: boolean;
}
