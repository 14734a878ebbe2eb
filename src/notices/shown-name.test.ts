import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shownName } from './shown-name.ts';

describe('a name in a mail', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['Reeds & Daughters Ltd.', 'Reeds & Daughters Ltd.'],
    ['北京分部', '北京分部'],
    ['key 2.5 of node.7', 'key 2.5 of node.7'],
    ['Your mailbox is full: https://evil.example/x', 'Your mailbox is full: [link]'],
    ['visit www.evil.example now', 'visit [link] now'],
    ['visit evil.example/now', 'visit [link]'],
    ['visit evil。example', 'visit [link]'],
    ['visit ｅｖｉｌ．example', 'visit [link]'],
    ['visit evil.\u200bexample', 'visit evil. example'],
    ['visit 💩.example and x\u0323.example and evil.भारत', 'visit [link] and [link] and [link]'],
    ['two\r\nlines', 'two lines'],
  ];
  for (const [name, shown] of cases)
    it(`${JSON.stringify(name)} is ${shown}`, () => assert.equal(shownName(name), shown));

  it('is short', () => assert.equal(shownName('n'.repeat(300)).length, 60));
});
