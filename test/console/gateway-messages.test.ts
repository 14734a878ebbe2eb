import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { parseSync } from 'vite';
import { CALL_MESSAGES } from '../../console/src/parts/call-messages.ts';
import { CATALOG_MESSAGES } from '../../console/src/parts/catalog-messages.ts';
import { GATEWAY_MESSAGES } from '../../console/src/parts/gateway-messages.ts';
import { inChinese } from '../../console/src/parts/in-chinese.ts';
import { REQUEST_MESSAGES } from '../../console/src/parts/request-messages.ts';
import { children, type Node } from '../../scripts/syntax-tree.ts';
import { errorCatalogue } from '../../src/errors/catalogue.ts';
import { passwordFault } from '../../src/people/password-rules.ts';

/** Checks that every error message of the management APIs and of calls has a Chinese translation. */

/** Functions whose first argument is an error message. */
const MAKERS: ReadonlySet<unknown> = new Set(['conflict', 'unprocessable', 'invalidRequest', 'notFound']);

/** Messages in a syntax tree, with `{}` for inserted values. */
function messagesIn(node: Node): string[] {
  const [first] = (node.arguments ?? []) as Node[];
  const isMaker = node.type === 'CallExpression' && MAKERS.has((node.callee as Node).name) && first !== undefined;
  const isMessage = node.type === 'Property' && (node.key as Node).name === 'message';
  // The argument of `notFound` is the kind of the missing thing.
  const made = isMaker && (node.callee as Node).name === 'notFound' ? `There is no ${first.value ?? '{}'} {}.` : null;
  const own = made !== null ? [made] : isMaker ? templatesOf(first) : isMessage ? templatesOf(node.value as Node) : [];
  return [...own, ...children(node).flatMap(messagesIn)];
}

function templatesOf(node: Node): string[] {
  switch (node.type) {
    case 'Literal':
      return [String(node.value)];
    case 'TemplateLiteral':
      return [
        (node.quasis as { readonly value: { readonly cooked: string } }[]).map(({ value }) => value.cooked).join('{}'),
      ];
    case 'BinaryExpression':
      return templatesOf(node.left as Node).flatMap((left) =>
        templatesOf(node.right as Node).map((right) => left + right),
      );
    default:
      return ['{}'];
  }
}

/** Sources of the management APIs, which the console calls. */
const files = globSync('src/api/**/*.ts').filter((file) => !/\.test\.ts$|^src\/api\/(endpoints|queries)\//.test(file));
const messages = new Set(
  files
    .flatMap((file) => messagesIn(parseSync(file, readFileSync(file, 'utf8')).program as unknown as Node))
    // Some messages start with a field name.
    .map((message) => message.replace(/^\w+: /, ''))
    // The template inside `notFound` itself.
    .filter((message) => /[a-z]{2,} /i.test(message) && message !== 'There is no {} {}.'),
);

/** Sources of the errors of calls, of problems of the catalog, and of failed notices. */
const callFiles = globSync([
  'src/{http,calls,protocols}/**/*.ts',
  'src/providers/{catalog,routing,upstream}/**/*.ts',
  'src/accounting/{accounts,partitions,plans}/**/*.ts',
  'src/api/{endpoints,queries}/*.ts',
  'src/config/{attempt-rules,catalog-sources,document,header-rules,load,parameter-rules,provider-credentials,regular-file,rules}.ts',
  'src/notices/webhook-sender.ts',
]).filter((file) => !/\.test\.ts$|\/schemas\.ts$|\/codex-models\.ts$/.test(file));

/** Sentences in these files that no caller is shown. */
const NOT_SHOWN: ReadonlySet<string> = new Set([
  'A black dot.',
  // Parts of translated requests, and of those that find a dialect.
  'Adds two integers.',
  'Call the tool "add" once, with a = 2 and b = 3. Then say its result in one word.',
  'How many prime numbers are there between 20 and 40? Answer with the number.',
  'Runs a command on the local machine.',
  'The call was interrupted; its outcome is unknown.',
  'The reasoning of this turn is not available.',
  'The result is in the next message.',
  // Operators read it in the log.
  'The call has not reserved enough for this model.',
  'This node must be restarted: it has opened {} of {} partitions.',
]);

/** Sentences in a syntax tree, with `{}` for inserted values. */
function sentencesIn(node: Node): string[] {
  const texts = ['Literal', 'TemplateLiteral', 'BinaryExpression'].includes(node.type) ? templatesOf(node) : [];
  const sentences = texts.filter((text) => /^(?:[A-Z]|"?\{\}"? ).* .*[.?]$/.test(text));
  return sentences.length > 0 ? sentences : children(node).flatMap(sentencesIn);
}

describe('the messages of calls and of the catalog', () => {
  const sentences = new Set(
    callFiles.flatMap((file) => sentencesIn(parseSync(file, readFileSync(file, 'utf8')).program as unknown as Node)),
  );
  const defaults = Object.values(errorCatalogue).map(({ message }) => message);

  it('all have a Chinese translation in the console', () => {
    assert.ok(sentences.size > 100, String(sentences.size));
    assert.deepEqual(
      [...defaults, ...sentences].filter((text) => {
        const message = text.replaceAll('{}', 'x-1');
        return inChinese(message) === message && !NOT_SHOWN.has(text);
      }),
      [],
    );
  });

  it('are translated sentence by sentence, with the phrases and the wait in them', () => {
    const said = (message: string): string => inChinese(message);
    assert.equal(
      said(
        'This API key reached its spending limit for the model a-1 for today. Other keys of the account are not affected. ' +
          'This quota is exhausted and will reset at 2026-11-22 05:13 +08:00, in 4 h 58 min.',
      ),
      '此 API 密钥已达到模型 a-1 今日的消费上限。账户的其他密钥不受影响。此额度已用完，将于 2026-11-22 05:13 +08:00（4 小时 58 分钟后）重置。',
    );
    assert.equal(
      said('The limit of 60 requests per minute of this API key for a-1 is reached. Please try again in 7s.'),
      '此 API 密钥对 a-1 每分钟 60 次请求的上限已达到。请在 7 秒后再试。',
    );
    assert.equal(
      said('The field "max_tokens" must be a whole number from 1, not 0.5.'),
      '字段“max_tokens”必须是不小于 1 的整数，而不是 0.5。',
    );
    assert.equal(said('The field "model" is required.'), '字段“model”为必填项。');
    assert.equal(said('The field "stream" appears more than once.'), '请求中的字段“stream”重复出现。');
    assert.equal(
      said('This API key may not use the model "a-1". Allowed models: b-1, c-1 and 4 others.'),
      '此 API 密钥不可使用模型 "a-1"。可用的模型：b-1, c-1 以及其他 4 个。',
    );
    assert.equal(
      said('There is nothing at this address. Did you mean POST /v1/chat/completions?'),
      '此地址不存在。您要找的是否是 POST /v1/chat/completions？',
    );
    assert.equal(
      said('line 3: models.a-1.price: This key is required. Expected an amount in yuan such as "4".'),
      '第 3 行：models.a-1.price：此键为必填项。应为以元为单位的金额，例如“4”。',
    );
    // Names are not words.
    assert.equal(said('The field "text" must be a string, not an array.'), '字段“text”必须是字符串，而不是数组。');
    assert.equal(
      said('There is no model "group". Did you mean "groups"?'),
      '没有模型“group”。您要写的是否是“groups”？',
    );
    // The provider's own words are those of its documents.
    assert.equal(said('The engine is overloaded. Come back later.'), 'The engine is overloaded. Come back later.');
  });
});

describe('the messages of the management APIs', () => {
  it('all have a Chinese translation in the console', () => {
    assert.ok(messages.size > 100);
    assert.deepEqual(
      [...messages].filter((message) => !Object.hasOwn(GATEWAY_MESSAGES, message)),
      [],
    );
  });

  it('keep inserted values and the field name in the translation', () => {
    const all = { ...GATEWAY_MESSAGES, ...CALL_MESSAGES, ...CATALOG_MESSAGES, ...REQUEST_MESSAGES };
    for (const [english, chinese] of Object.entries(all)) {
      const count = english.split('{}').length - 1;
      const numbers = [...chinese.matchAll(/\{(\d)\*?\}/g)].map(([, number]) => Number(number));
      assert.ok(
        numbers.every((number) => number >= 1 && number <= count),
        english,
      );
      const said = inChinese(english.replaceAll('{}', 'x-1'));
      assert.match(said, /\p{Script=Han}/u, english);
      assert.doesNotMatch(said, /\{\d?\*?\}/);
    }
    assert.equal(inChinese('There is no account acct_1.'), '没有账户 acct_1。');
    assert.equal(
      inChinese('amountYuan: The charge is ¥1, of which ¥0.2 has been refunded already; at most ¥0.8 can be refunded.'),
      'amountYuan：扣费为 ¥1，其中 ¥0.2 已退款，最多还可退 ¥0.8。',
    );
    assert.equal(
      inChinese(`password: ${passwordFault('short', [])}`),
      'password：至少 12 个字符。几个词连起来更容易记住。',
    );
  });

  it('stay in English if they are unknown', () => {
    assert.equal(inChinese('The moon is full: wait.'), 'The moon is full: wait.');
  });
});
