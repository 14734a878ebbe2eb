import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { FORMS, MESSENGERS, type MessengerForm, messengerResult, shownUrl } from './messengers.ts';

const AT = new Date('2026-11-20T12:00:00.250Z');
const URLS: Readonly<Record<MessengerForm, string>> = {
  slack: 'https://hooks.slack.com/services/T000/B000/slackSecretXyz1',
  feishu: 'https://open.feishu.cn/open-apis/bot/v2/hook/feishu-secret-xyz2',
  dingtalk: 'https://oapi.dingtalk.com/robot/send?access_token=dingSecretXyz3',
  wecom: 'https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=wecom-secret-xyz4',
  telegram: 'https://api.telegram.org/bot42:telegram-secret/sendMessage?chat_id=-1007&disable_notification=true',
};

function requestOf(form: MessengerForm, secret = '') {
  const { path, body } = MESSENGERS[form].requestOf({ url: new URL(URLS[form]), secret, text: 'a & b', at: AT });
  return { path, body: JSON.parse(body) };
}

describe('the request to', () => {
  it('Slack has the text, with its entities escaped', () => {
    assert.deepEqual(requestOf('slack'), { path: '/services/T000/B000/slackSecretXyz1', body: { text: 'a &amp; b' } });
  });

  it('Feishu signs an empty text with time and secret, in seconds and in the body', () => {
    const body = { msg_type: 'text', content: { text: 'a & b' } };
    assert.deepEqual(requestOf('feishu').body, body);
    const sign = createHmac('sha256', ['1795176000', 'feishu-key'].join('\n')).update('').digest('base64');
    assert.deepEqual(requestOf('feishu', 'feishu-key').body, { ...body, timestamp: '1795176000', sign });
  });

  it('DingTalk signs time and secret with the secret, in milliseconds and in the address', () => {
    assert.deepEqual(requestOf('dingtalk'), {
      path: '/robot/send?access_token=dingSecretXyz3',
      body: { msgtype: 'text', text: { content: 'a & b' } },
    });
    const { searchParams } = new URL(requestOf('dingtalk', 'SECabc').path, 'https://oapi.dingtalk.com');
    assert.deepEqual(Object.fromEntries(searchParams), {
      access_token: 'dingSecretXyz3',
      timestamp: '1795176000250',
      sign: createHmac('sha256', 'SECabc').update('1795176000250\nSECabc').digest('base64'),
    });
  });

  it('WeCom has the text', () => {
    assert.deepEqual(requestOf('wecom').body, { msgtype: 'text', text: { content: 'a & b' } });
  });

  it('Telegram has the options of the address in the body', () => {
    assert.deepEqual(requestOf('telegram'), {
      path: '/bot42:telegram-secret/sendMessage',
      body: { chat_id: '-1007', disable_notification: 'true', text: 'a & b' },
    });
  });
});

describe('the result of', () => {
  const cases: readonly (readonly [MessengerForm, number, unknown, 'delivered' | RegExp, number?])[] = [
    ['slack', 200, 'ok', 'delivered'],
    ['slack', 400, 'invalid_payload', /status 400/],
    ['slack', 404, 'no_service', /status 404/],
    ['slack', 429, 'rate_limited', /status 429/, 30_000],
    ['feishu', 200, { code: 0, msg: 'success' }, 'delivered'],
    ['feishu', 200, { StatusCode: 0, StatusMessage: 'success' }, 'delivered'],
    ['feishu', 200, { code: 19_021, msg: 'sign match fail' }, /code 19021/],
    ['feishu', 200, { code: 11_232, msg: 'frequency limited' }, /code 11232/, 60_000],
    ['feishu', 400, { code: 9_499, msg: 'Bad Request' }, /status 400/],
    ['dingtalk', 200, { errcode: 0, errmsg: 'ok' }, 'delivered'],
    ['dingtalk', 200, { errcode: 310_000, errmsg: 'sign not match' }, /code 310000/],
    ['dingtalk', 200, { errcode: 130_101, errmsg: 'send too fast' }, /code 130101/, 600_000],
    ['wecom', 200, { errcode: 0, errmsg: 'ok' }, 'delivered'],
    ['wecom', 200, { errcode: 93_000, errmsg: 'invalid webhook url' }, /code 93000/],
    ['wecom', 200, { errcode: 45_009, errmsg: 'api freq out of limit' }, /code 45009/, 60_000],
    ['telegram', 200, { ok: true, result: {} }, 'delivered'],
    ['telegram', 200, { ok: false, error_code: 400 }, /code 400/],
    ['telegram', 403, { ok: false, error_code: 403, description: 'Forbidden' }, /status 403/],
    ['telegram', 429, { ok: false, error_code: 429, parameters: { retry_after: 34 } }, /status 429/, 34_000],
  ];
  for (const [form, status, answer, expected, restMs] of cases) {
    it(`${form}: ${status} ${JSON.stringify(answer)}`, () => {
      const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
      const retryAfter = form === 'slack' && status === 429 ? '30' : null;
      const result = messengerResult(form, { status, retryAfter, text });
      if (expected === 'delivered') assert.equal(result.outcome, 'delivered');
      else assert.match(result.outcome === 'failed' ? result.error : '', expected);
      assert.equal(result.restMs, restMs ?? MESSENGERS[form].paceMs);
    });
  }

  for (const form of FORMS.filter((each) => each !== 'faregate' && each !== 'slack') as MessengerForm[]) {
    it(`${form} is a failure if the body is no answer of the vendor`, () => {
      for (const text of ['', '<html>', 'null', '[]', '{}', '{"code":"0","errcode":"0","ok":"true"}', '7']) {
        const result = messengerResult(form, { status: 200, retryAfter: null, text });
        assert.match(result.outcome === 'failed' ? result.error : '', /status 200/, text);
      }
    });
  }

  it('a request that an archived channel refuses disables the endpoint', () => {
    const result = messengerResult('slack', { status: 410, retryAfter: null, text: 'channel_is_archived' });
    assert.equal(result.outcome === 'failed' && result.isGone, true);
  });

  it('a wait that is asked for is at most an hour', () => {
    assert.equal(messengerResult('slack', { status: 429, retryAfter: '999999', text: '' }).restMs, 3_600_000);
    assert.equal(messengerResult('slack', { status: 429, retryAfter: 'soon', text: '' }).restMs, 60_000);
  });
});

describe('the shown address of a messenger', () => {
  it('contains no secret', () => {
    for (const [form, url] of Object.entries(URLS)) {
      assert.doesNotMatch(shownUrl(form as MessengerForm, url), /secret|Secret|T000/);
    }
    assert.equal(shownUrl('slack', URLS.slack), 'https://hooks.slack.com/…Xyz1');
    assert.equal(shownUrl('faregate', 'https://receiver.example/hook'), 'https://receiver.example/hook');
  });
});

describe('the address of Telegram', () => {
  it('needs the method and a chat', () => {
    const check = (url: string) => MESSENGERS.telegram.check?.(new URL(url));
    assert.doesNotThrow(() => check(URLS.telegram));
    assert.throws(() => check('https://api.telegram.org/bot42:x/sendMessage'), /chat_id/);
    assert.throws(() => check('https://api.telegram.org/bot42:x?chat_id=1'), /sendMessage/);
  });
});
