import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import stringWidth from 'string-width';
import { createOutput } from './output.ts';
import { columnsOf, fieldsOf, renderFields, renderTable } from './table.ts';
import { fitting } from './terminal-width.ts';

/** A name that could be stored before names were checked: it clears the screen and imitates another row. */
const FORGER = 'eve\u001b[2J\nacct_2  alice  active\u202e\u009b1m';
const ESCAPED = 'eve\\u001b[2J\\u000aacct_2  alice  active\\u202e\\u009b1m';

const printed = (isJson: boolean, value: unknown, render: () => string): string => {
  let out = '';
  createOutput(isJson, (text) => {
    out += text;
  }).print(value, render);
  return out;
};

describe('what a command prints', () => {
  it('has one line for each row, aligned by visible width, whatever a cell contains', () => {
    const table = renderTable([{ name: FORGER }, { name: 'bob' }], 'none', [
      { title: 'name', cell: (row) => row.name },
      { title: 'n', cell: () => '1' },
    ]);
    const width = ESCAPED.length;
    assert.deepEqual(table.split('\n'), [`${'NAME'.padEnd(width)}  N`, `${ESCAPED}  1`, `${'bob'.padEnd(width)}  1`]);
  });

  it('aligns names of any script in columns of a terminal', () => {
    const names = ['李小龙', 'Zoë', 'e\u0301', '👩‍👩‍👧', 'ﾆﾎﾝ', '한국'];
    const table = renderTable(
      names.map((name) => ({ name })),
      'none',
      [
        { title: 'name', cell: ({ name }) => name },
        { title: 'right', cell: ({ name }) => name, align: 'right' },
        { title: 'end', cell: () => '|' },
      ],
    );
    assert.deepEqual(table.split('\n'), [
      'NAME     RIGHT  END',
      '李小龙  李小龙  |',
      'Zoë        Zoë  |',
      'e\u0301            e\u0301  |',
      '👩‍👩‍👧          👩‍👩‍👧  |',
      'ﾆﾎﾝ        ﾆﾎﾝ  |',
      '한국      한국  |',
    ]);
  });

  it('fits a terminal: leaves out empty columns and offsets, and cuts texts, but neither ids nor numbers', () => {
    const rows = [
      { id: 'acct_01', name: '深圳市很长的名字有限公司', at: '2026-11-30 15:40:33 +00:00', n: '1234567890', none: '' },
      { id: 'acct_02', name: 'a name that is long, too', at: '2026-11-30 15:40:34 +00:00', n: '-', none: '' },
    ];
    const columns = (['id', 'name', 'at', 'n', 'none'] as const).map((title) => ({
      title,
      cell: (row: (typeof rows)[number]) => row[title],
    }));
    const at = (width: number) => fitting(width, () => renderTable(rows, '', columns)).split('\n');
    assert.match(at(120)[1]!, /^acct_01 {2}深圳市很长的名字有限公司 {2}2026-11-30 15:40:33 \+00:00 {2}1234567890$/);
    assert.deepEqual(at(55), [
      'ID       NAME           AT                            N',
      'acct_01  深圳市很长的…  2026-11-30 15:40:33  1234567890',
      'acct_02  a name that …  2026-11-30 15:40:34           -',
    ]);
    for (const width of [50, 55, 60, 75])
      assert.ok(
        at(width).every((line) => stringWidth(line) <= width),
        `${width}`,
      );
    assert.deepEqual(at(30).slice(0, 6), [
      'id    acct_01',
      'name  深圳市很长的名字有限公司',
      'at    2026-11-30 15:40:33 +00:00',
      'n     1234567890',
      '',
      'id    acct_02',
    ]);
    // In a pipe nothing is cut.
    assert.ok(renderTable(rows, '', columns).includes('a name that is long, too'));
  });

  it('aligns numbers to the right, with and without a unit', () => {
    const table = renderTable([{ n: '7' }, { n: '-12.5 tokens' }, { n: '-' }], 'none', [
      { title: 'n', cell: ({ n }) => n },
      { title: 'end', cell: () => '|' },
    ]);
    assert.deepEqual(table.split('\n'), ['           N  END', '           7  |', '-12.5 tokens  |', '           -  |']);
  });

  it('names members, and shows amounts and instants', () => {
    const row = { id: 'acct_1', balanceYuan: '12.5', expiresAt: null, scopes: ['calls', 'account'], email: null };
    const columns = columnsOf<typeof row>('id', 'balanceYuan', 'expiresAt', 'scopes', 'email');
    assert.deepEqual(
      columns.map(({ title, cell }) => [title, cell(row)]),
      [
        ['id', 'acct_1'],
        ['balance ¥', '12.5'],
        ['expires', 'never'],
        ['scopes', 'calls account'],
        ['email', ''],
      ],
    );
    assert.deepEqual(fieldsOf(row, 'balanceYuan', 'email'), [
      ['balance', '¥12.5'],
      ['email', '-'],
    ]);
  });

  it('has one line for each field', () => {
    assert.equal(
      renderFields([
        ['id', 'acct_1'],
        ['name', FORGER],
      ]),
      `id    acct_1\nname  ${ESCAPED}`,
    );
  });

  it('has no control characters in sentences', () => {
    assert.equal(
      printed(false, null, () => 'one\u001b[2J\ntwo\r'),
      'one\\u001b[2J\ntwo\\u000d\n',
    );
  });

  it('is JSON with the same value and without control characters', () => {
    const text = printed(true, { name: FORGER }, () => '');
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\u202e]/u);
    assert.deepEqual(JSON.parse(text), { name: FORGER });
  });
});
