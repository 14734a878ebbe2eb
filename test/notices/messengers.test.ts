import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { MessengerForm } from '../../src/notices/messengers.ts';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { createPerson } from '../support/people.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { recordLogs } from '../support/recorded-logger.ts';
import { until } from '../support/until.ts';

/** Endpoints of messengers at receivers that answer as their vendors do. */

const SECRET = 'robot-secret';

type Robot = 'accepts' | 'refuses' | 'limits';

/** What each vendor answers. */
const ANSWERS: Readonly<Record<MessengerForm, Readonly<Record<Robot, readonly [status: number, body: string]>>>> = {
  slack: {
    accepts: [200, 'ok'],
    refuses: [403, 'action_prohibited'],
    limits: [429, 'rate_limited'],
  },
  feishu: {
    accepts: [200, '{"code":0,"msg":"success","data":{}}'],
    refuses: [200, '{"code":19021,"msg":"sign match fail or timestamp is not within one hour"}'],
    limits: [200, '{"code":11232,"msg":"frequency limited"}'],
  },
  dingtalk: {
    accepts: [200, '{"errcode":0,"errmsg":"ok"}'],
    refuses: [200, '{"errcode":310000,"errmsg":"sign not match"}'],
    limits: [200, '{"errcode":130101,"errmsg":"send too fast, exceed 20 times per minute"}'],
  },
  wecom: {
    accepts: [200, '{"errcode":0,"errmsg":"ok"}'],
    refuses: [200, '{"errcode":93000,"errmsg":"invalid webhook url"}'],
    limits: [200, '{"errcode":45009,"errmsg":"api freq out of limit"}'],
  },
  telegram: {
    accepts: [200, '{"ok":true,"result":{"message_id":1}}'],
    refuses: [400, '{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}'],
    limits: [429, '{"ok":false,"error_code":429,"parameters":{"retry_after":120}}'],
  },
};
const PATHS: Readonly<Record<MessengerForm, string>> = {
  slack: '/services/T000/B000/slack-path-secret',
  feishu: '/open-apis/bot/v2/hook/feishu-path-secret',
  dingtalk: '/robot/send?access_token=ding-path-secret',
  wecom: '/cgi-bin/webhook/send?key=wecom-path-secret',
  telegram: '/bot42:telegram-path-secret/sendMessage?chat_id=-1007',
};
const LIMIT_MS: Readonly<Record<MessengerForm, number>> = {
  ...{ slack: 60_000, feishu: 60_000, dingtalk: 600_000, wecom: 60_000, telegram: 120_000 },
};
const FORMS = Object.keys(PATHS) as MessengerForm[];
const SIGNED: readonly MessengerForm[] = ['feishu', 'dingtalk'];

/** The text of a message, which each vendor has at another place. */
// biome-ignore lint/suspicious/noExplicitAny: the bodies of five vendors
const textOf = (body: any): string => body.text?.content ?? body.content?.text ?? body.text;

describe('an endpoint of a messenger', { timeout: 120_000 }, () => {
  const clock = createTestClock('2026-11-20T12:00:00Z');
  const logs = recordLogs();
  let g: TestGateway;
  let receiver: Receiver;
  let robot: Robot = 'accepts';

  before(async () => {
    g = await startGateway({
      clock,
      logger: logs.logger,
      noticeSettings: 'notices: { lowBalanceYuan: "1", allowNetworks: [127.0.0.0/8] }',
    });
    receiver = await startReceiver();
  });
  after(async () => {
    await receiver.close();
    await g.stop();
  });
  beforeEach(() => {
    robot = 'accepts';
    receiver.received.length = 0;
  });

  const answerAs =
    (form: MessengerForm) =>
    (response: ServerResponse): void => {
      const [status, body] = ANSWERS[form][robot];
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    };

  const create = (form: MessengerForm, more: object = {}) =>
    g.admin('POST', '/webhooks', { url: new URL(PATHS[form], receiver.url).href, form, ...more });

  async function deliveries(id: string) {
    return (await g.admin('GET', `/webhooks/${id}/deliveries`)).body.data;
  }

  for (const form of FORMS) {
    describe(form, () => {
      let id: string;
      before(async () => {
        receiver.respond = answerAs(form);
        const secret = SIGNED.includes(form) ? { secret: SECRET } : {};
        const made = await create(form, { ...secret, language: 'zh' });
        assert.equal(made.status, 201, JSON.stringify(made.body));
        assert.deepEqual(
          [made.body.form, made.body.language, made.body.isSigned, made.body.secret],
          [form, 'zh', SIGNED.includes(form), null],
        );
        id = made.body.id;
      });
      after(() => g.admin('DELETE', `/webhooks/${id}`));
      // `limits` makes the endpoint rest.
      beforeEach(() => {
        receiver.respond = answerAs(form);
        clock.advance(3_600_000);
      });

      it('gets messages with text and link, signed if the vendor signs', async () => {
        assert.equal((await g.admin('POST', `/webhooks/${id}/test`)).status, 201);
        await g.gateway.notices.settle();
        const [{ path, body, headers }] = receiver.received as [Receiver['received'][number]];
        assert.match(
          textOf(body),
          /^测试\n这是一条测试通知。\nhttp:\/\/127\.0\.0\.1:\d+\/console#\/operator\/notices$/,
        );
        assert.equal(headers['webhook-signature'], undefined);
        const { searchParams } = new URL(path, receiver.url);
        if (form === 'feishu') {
          const sign = createHmac('sha256', `${body.timestamp}\n${SECRET}`).update('').digest('base64');
          assert.deepEqual([body.timestamp, body.sign], [String(Math.floor(clock.nowMs() / 1_000)), sign]);
        }
        if (form === 'dingtalk') {
          const at = searchParams.get('timestamp');
          assert.equal(at, String(clock.nowMs()));
          assert.equal(
            searchParams.get('sign'),
            createHmac('sha256', SECRET).update(`${at}\n${SECRET}`).digest('base64'),
          );
        }
        if (form === 'telegram') assert.equal(body.chat_id, '-1007');
        assert.equal((await deliveries(id))[0].status, 'delivered');
      });

      it('retries a message that the vendor refuses, also with status 200', async () => {
        robot = 'refuses';
        await g.admin('POST', `/webhooks/${id}/test`);
        await g.gateway.notices.settle();
        const [refused] = await deliveries(id);
        assert.deepEqual([refused.status, refused.attempts], ['pending', 1]);
        assert.match(refused.lastError, /did not accept the message \((code|status) \d+\)/);
        robot = 'accepts';
        clock.advance(10_000);
        await g.gateway.notices.settle();
        const [delivery] = await deliveries(id);
        assert.deepEqual([delivery.status, delivery.attempts], ['delivered', 2]);
      });

      it('waits as long as the vendor’s rate limit demands, also for another notice', async () => {
        robot = 'limits';
        await g.admin('POST', `/webhooks/${id}/test`);
        await g.gateway.notices.settle();
        assert.equal(receiver.received.length, 1);
        robot = 'accepts';
        clock.advance(LIMIT_MS[form] - 1_000);
        await g.admin('POST', `/webhooks/${id}/test`);
        await g.gateway.notices.settle();
        assert.equal(receiver.received.length, 1);
        clock.advance(2_000);
        await g.gateway.notices.settle();
        assert.equal(receiver.received.length, 2);
        await g.gateway.notices.settle();
        assert.equal(receiver.received.length, 2, 'paced');
        clock.advance(4_000);
        await g.gateway.notices.settle();
        assert.equal(receiver.received.length, 3);
        assert.deepEqual(
          (await deliveries(id)).slice(0, 2).map(({ status }: { status: string }) => status),
          ['delivered', 'delivered'],
        );
      });

      it('shows no secret of its address', async () => {
        const [shown, list, changes] = await Promise.all(
          [`/webhooks/${id}`, '/webhooks', '/changes'].map((path) => g.admin('GET', path)),
        );
        for (const { body } of [shown!, list!, changes!]) {
          assert.doesNotMatch(JSON.stringify(body), /path-secret|robot-secret/);
        }
        assert.match(shown!.body.url, /^http:\/\/127\.0\.0\.1:\d+\/….{4}$/);
      });
    });
  }

  it('writes no secret into the log', () => {
    assert.ok(logs.lines.some(({ message }) => message.includes('delivery of a notice failed')));
    assert.doesNotMatch(logs.text(), /path-secret|robot-secret/);
  });

  it('of an account gets its notices in the configured language', async () => {
    const account = await g.createAccount({ balanceYuan: '2' });
    await g.admin('PATCH', `/accounts/${account.id}`, { name: 'Studio <!channel>' });
    receiver.respond = answerAs('slack');
    const { id } = (await create('slack', { accountId: account.id })).body;
    await createPerson(g, { memberships: [{ accountId: account.id, role: 'owner' }] });
    await g.admin('PUT', `/accounts/${account.id}/low-balance`, { thresholdYuan: '3' });
    await until(async () => {
      await g.gateway.notices.settle();
      return receiver.received.length > 0;
    });
    assert.match(
      receiver.received[0]!.body.text,
      /^Balance low: 2 yuan\n.*\nAccount: Studio ‹!channel›\nhttp:\/\/127\.0\.0\.1:\d+\/console#\/$/,
    );
    await g.admin('DELETE', `/webhooks/${id}`);
  });

  it('keeps its secret and form when something else changes', async () => {
    receiver.respond = answerAs('feishu');
    const { id } = (await create('feishu', { secret: SECRET })).body;
    const path = `/webhooks/${id}`;
    const renamed = await g.admin('PATCH', path, { language: 'en', events: ['balance.low'] });
    assert.deepEqual([renamed.body.form, renamed.body.isSigned, renamed.body.language], ['feishu', true, 'en']);
    await g.admin('POST', `${path}/test`);
    await g.gateway.notices.settle();
    assert.equal(typeof receiver.received.at(-1)!.body.sign, 'string');
    const unsigned = await g.admin('PATCH', path, { secret: null, language: null });
    assert.deepEqual([unsigned.body.isSigned, unsigned.body.language], [false, null]);
    await g.admin('PATCH', path, { secret: 'robot-secret-1' });
    // Ids of changes begin with the time.
    clock.advance(1_000);
    await g.admin('PATCH', path, { secret: 'robot-secret-2' });
    const { data } = (await g.admin('GET', '/changes?limit=1')).body;
    assert.equal(data[0].after.isSecretReplaced, true, 'the audit log shows a change that the endpoint does not');
    assert.doesNotMatch(JSON.stringify(data), /robot-secret/);
    await g.admin('DELETE', path);
  });

  const refused: Readonly<Record<string, readonly [body: object, param: string]>> = {
    'an unknown form': [{ url: 'https://receiver.example/', form: 'pigeon' }, 'form'],
    'a secret for signed JSON': [{ url: 'https://receiver.example/', secret: 'mine' }, 'secret'],
    'a secret for Slack': [{ url: 'https://hooks.slack.com/services/x', form: 'slack', secret: 'mine' }, 'secret'],
    'a language for signed JSON': [{ url: 'https://receiver.example/', language: 'zh' }, 'language'],
    'Telegram without a chat': [{ url: 'https://api.telegram.org/bot1:x/sendMessage', form: 'telegram' }, 'url'],
    'a private address': [{ url: 'https://10.0.0.1/services/x', form: 'slack' }, 'url'],
  };
  for (const [what, [body, param]] of Object.entries(refused)) {
    it(`is refused with ${what}`, async () => {
      const response = await g.admin('POST', '/webhooks', body);
      assert.deepEqual([response.status, response.body.error.param], [400, param], JSON.stringify(response.body));
    });
  }
});
