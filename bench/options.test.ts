import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseOptions } from './options.ts';
import type { Scenario } from './scenarios.ts';

const PEERS = ['floor', 'nginx', 'other'];
const names = (groups: readonly (readonly Scenario[])[]): string[][] =>
  groups.map((group) => group.map(({ name }) => name));
const parse = (...args: string[]): ReturnType<typeof parseOptions> => parseOptions(args, PEERS);

describe('options of the bench', () => {
  it('by default: the default scenarios with the floor and nginx, and only this version', () => {
    const { groups, peers, before, isGate, isJson, isRecorded } = parse();
    const each = ['chat-1', 'chat-64', 'chat-256', 'coding-64', 'rate-500', 'streams-1000'];
    assert.deepEqual(
      names(groups),
      each.map((name) => [name]),
    );
    assert.deepEqual([peers, before, isGate, isJson, isRecorded], [['floor', 'nginx'], null, false, false, false]);
  });

  it('select scenarios, durations and peers', () => {
    const { groups, duration, peers, before } = parse(
      ...['--scenario', 'estimate', '--rounds', '5', '--seconds', '0.5', '--warm-up', '1'],
      ...['--peers', 'all', '--before', '../old'],
    );
    assert.deepEqual(names(groups), [['estimate-2']]);
    assert.deepEqual(duration, { rounds: 5, seconds: 0.5, warmUp: { seconds: 1, atMostSeconds: 20 } });
    assert.deepEqual([peers, before], [PEERS, '../old']);
  });

  it('add databases with several partitions, on the bench’s server and on a cluster', () => {
    const spread = (...args: string[]): unknown[] => parse(...args).spread.map(({ name, url }) => [name, url]);
    assert.deepEqual(spread(), []);
    assert.deepEqual(spread('--partitions', '4,16'), [
      ['PostgreSQL, 4 partitions', null],
      ['PostgreSQL, 16 partitions', null],
    ]);
    assert.deepEqual(spread('--partitions', '4', '--citus', 'postgres://c/d'), [
      ['PostgreSQL, 4 partitions', null],
      ['Citus, 4 partitions', 'postgres://c/d'],
    ]);
    assert.throws(() => parse('--citus', 'postgres://c/d'), /say with --partitions/);
    assert.throws(() => parse('--gate', '--partitions', '4'), /the gate measures one partition/);
  });

  it('the gate has its own scenarios, and no peers', () => {
    const { groups, peers, isGate, duration } = parse('--gate');
    assert.deepEqual([names(groups), peers, isGate], [[['chat-64', 'streams-500']], [], true]);
    assert.deepEqual(duration.warmUp, { seconds: null, atMostSeconds: 2 });
  });

  it('scenarios of a group use one address, because the warm-up for the first applies to all', () => {
    for (const group of parse('--gate').groups) {
      assert.equal(new Set(group.map(({ path }) => path)).size, 1, String(names([group])));
    }
  });

  it('refuses conflicting options, and explains what to do', () => {
    for (const [args, message] of [
      [['--gate', '--scenario', 'chat'], /^Error: --gate and --scenario: .*leave out one of the two\.$/],
      [['--gate', '--before', '../old'], /^Error: --gate and --before: .*compare versions without --gate\.$/],
      [['--gate', '--peers', 'none'], /^Error: --gate and --peers: .*measure them without --gate\.$/],
      [['--gate', '--peer', 'a=http://h,,m,1'], /^Error: --gate and --peer: .*measure them without --gate\.$/],
      [['--gate', '--profile', 'p'], /^Error: --gate and --profile: .*write one without --gate\.$/],
      [['--record', '--before', '../old'], /^Error: --record and --before: .*leave out one of the two\.$/],
      [['--record', '--profile', 'p'], /^Error: --record and --profile: .*record without --profile\.$/],
    ] as const) {
      assert.throws(() => parse(...args), message);
    }
    assert.ok(parse('--gate', '--record').isRecorded);
  });

  it('refuses values other than numbers above zero, and unknown peers', () => {
    for (const text of ['0', 'x', '-1', '']) {
      assert.throws(() => parse(`--rounds=${text}`), /^Error: --rounds: expected a number above zero; found "/);
    }
    assert.throws(() => parse('--peers', 'nginx,apache'), /found "apache"\.$/);
    assert.throws(() => parse('--connections', '1'), /Unknown option '--connections'/);
  });
});
