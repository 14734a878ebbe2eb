import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { parseSync } from 'vite';
import { GATEWAY_MESSAGES, inChinese } from '../../console/src/parts/gateway-messages.ts';
import { children, type Node } from '../../scripts/syntax-tree.ts';
import { passwordFault } from '../../src/people/password-rules.ts';

/** Checks that every error message of the management APIs has a Chinese translation. */

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

describe('the messages of the management APIs', () => {
  it('all have a Chinese translation in the console', () => {
    assert.ok(messages.size > 100);
    assert.deepEqual(
      [...messages].filter((message) => !Object.hasOwn(GATEWAY_MESSAGES, message)),
      [],
    );
  });

  it('keep inserted values and the field name in the translation', () => {
    for (const [english, chinese] of Object.entries(GATEWAY_MESSAGES)) {
      const count = english.split('{}').length - 1;
      const numbers = [...chinese.matchAll(/\{(\d)\}/g)].map(([, number]) => Number(number));
      assert.ok(
        numbers.every((number) => number >= 1 && number <= count),
        english,
      );
      const said = inChinese(english.replaceAll('{}', 'x-1'));
      assert.match(said, /\p{Script=Han}/u, english);
      assert.doesNotMatch(said, /[{}]/);
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
