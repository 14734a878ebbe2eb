import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NOTICE_KINDS, type Notice, TEST_KIND } from './notice.ts';
import { mailText, messageText } from './notice-text.ts';
import { LANGUAGES } from './notice-words.ts';

const AT_MS = Date.parse('2026-11-20T12:00:00Z');
const budget: Notice = {
  id: 'ntc_1',
  kind: 'budget.nearly_used',
  accountId: 'acct_1',
  subject: 'budget acct_1 usr_1 day',
  data: {
    accountId: 'acct_1',
    scope: 'member',
    ownerId: 'usr_1',
    name: 'Lin',
    prefix: null,
    model: null,
    period: 'day',
    percent: 100,
    usedYuan: '10.1',
    limitYuan: '10',
    resetsAt: '2026-11-20T16:00:00.000Z',
  },
  atMs: AT_MS,
};
const terms = {
  language: 'en' as const,
  consoleUrl: 'https://gateway.example',
  isForOperators: false,
  accountName: 'Studio',
};

describe('the text of a notice', () => {
  it('says what is used, what follows, and where to look', () => {
    assert.equal(
      messageText(budget, terms),
      `The budget of Lin: 100 % used
The budget of Lin for the day has used 10.1 of 10 yuan. Further calls are refused. A new period begins at 2026-11-20T16:00:00.000Z.
Account: Studio
https://gateway.example/console#/`,
    );
    assert.equal(
      messageText(
        { ...budget, data: { ...budget.data, model: 'acme-large', percent: 80 } },
        { ...terms, language: 'zh' },
      ),
      `成员 Lin 的预算（模型 acme-large）已用 80%
成员 Lin 的预算（模型 acme-large）今日已用 10.1 元，上限 10 元。用尽后，调用将被拒绝。将于 2026-11-20T16:00:00.000Z 重置。
账户：Studio
https://gateway.example/console#/`,
    );
  });

  it('links operators to their own pages', () => {
    const link = (notice: Notice) =>
      messageText(notice, { ...terms, isForOperators: true })
        .split('\n')
        .at(-1);
    assert.equal(link(budget), 'https://gateway.example/console#/operator/accounts/acct_1');
    const down: Notice = { ...budget, kind: 'route.down', accountId: null, data: {} };
    assert.equal(link(down), 'https://gateway.example/console#/operator/routes');
  });

  it('exists for every kind, in both languages', () => {
    for (const kind of [...NOTICE_KINDS, TEST_KIND] as const) {
      const [en, zh] = LANGUAGES.map((language) => messageText({ ...budget, kind }, { ...terms, language }));
      assert.doesNotMatch(`${en}${zh}`, /undefined|null/, kind);
      assert.doesNotMatch(en!.split('https://')[0]!, /\p{sc=Han}/u, kind);
      assert.match(zh!, /\p{sc=Han}/u, kind);
    }
  });

  it('contains no mention and no link that a name could begin', () => {
    const names = ['<!channel>', '<at user_id="all">all</at>', '@all', 'see https://evil.example/x', 'evil.example'];
    for (const name of names) {
      const text = messageText({ ...budget, data: { ...budget.data, name } }, { ...terms, accountName: name });
      const said = text.slice(0, text.lastIndexOf('\n'));
      assert.doesNotMatch(said, /[<>@]|evil/, name);
    }
  });

  it('stays short', () => {
    const data = Object.fromEntries(Object.keys(budget.data).map((name) => [name, '长'.repeat(5_000)]));
    for (const kind of NOTICE_KINDS) {
      const text = messageText({ ...budget, kind, data }, { ...terms, language: 'zh' });
      assert.ok(Buffer.byteLength(text) < 2_048, `${kind}: ${Buffer.byteLength(text)}`);
    }
  });

  it('is mailed in the configured language, with the link and the data', () => {
    const { subject, text } = mailText(budget, 'zh', 'https://gateway.example');
    assert.equal(subject, '成员 Lin 的预算已用 100%');
    assert.match(text, /https:\/\/gateway\.example\/console#\/\n.*limitYuan: 10\n.*Notice ntc_1/s);
  });
});
