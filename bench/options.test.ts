import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseOptions } from './options.ts';

const PEERS = ['nginx', 'other'];
const parse = (...args: string[]): ReturnType<typeof parseOptions> => parseOptions(args, PEERS);

describe('options of the bench', () => {
  it('without any: the default scenarios beside nginx, this version alone', () => {
    const { scenarios, peers, before, isGate, isJson, isRecorded } = parse();
    assert.deepEqual(
      scenarios.map(({ name }) => name),
      ['chat-1', 'chat-64', 'chat-256', 'coding-64', 'rate-500', 'streams-1000'],
    );
    assert.deepEqual([peers, before, isGate, isJson, isRecorded], [['nginx'], null, false, false, false]);
  });

  it('says what is measured, for how long, and beside whom', () => {
    const { scenarios, duration, peers, before } = parse(
      ...['--scenario', 'estimate', '--rounds', '5', '--seconds', '0.5', '--warm-up', '1'],
      ...['--peers', 'all', '--before', '../old'],
    );
    assert.deepEqual(
      scenarios.map(({ name }) => name),
      ['estimate-2'],
    );
    assert.deepEqual(duration, { rounds: 5, seconds: 0.5, warmUpSeconds: 1 });
    assert.deepEqual([peers, before], [PEERS, '../old']);
  });

  it('the gate has its own scenarios, and no peers', () => {
    const { scenarios, peers, isGate } = parse('--gate');
    assert.deepEqual([scenarios.map(({ name }) => name), peers, isGate], [['chat-64', 'streams-500'], [], true]);
    assert.throws(() => parse('--gate', '--scenario', 'chat'), /^Error: --gate has scenarios of its own/);
  });

  it('refuses what is not a number above zero, and peers that it does not know', () => {
    for (const text of ['0', 'x', '-1', '']) {
      assert.throws(() => parse(`--rounds=${text}`), /^Error: --rounds: expected a number above zero; found "/);
    }
    assert.throws(() => parse('--peers', 'nginx,apache'), /found "apache"\.$/);
    assert.throws(() => parse('--connections', '1'), /Unknown option '--connections'/);
  });
});
