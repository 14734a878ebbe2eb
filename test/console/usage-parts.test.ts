import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UsageGroup } from '../../console/src/parts/usage/usage-group.ts';
import { barsOf, keyPart, PARTS_MAX, type PartOf, sharesOf } from '../../console/src/parts/usage/usage-parts.ts';
import { inputTokensOf, outputTokensOf, sumGroups } from '../../console/src/parts/usage/usage-sums.ts';

const group = (netChargeYuan: string, of: Partial<UsageGroup> = {}): UsageGroup => ({
  calls: 1,
  usage: {},
  ...of,
  netChargeYuan,
});
const ofModel: PartOf = ({ model }) => ({ id: model ?? '', name: model ?? '–' });
const ofKey: PartOf = (each) => keyPart(each, 'unknown key');

describe('sums of usage', () => {
  it('add input and output, highest charge first, with the total at the end', () => {
    const counts = { inputTokens: 1, cachedInputTokens: 2, outputTokens: 3, reasoningTokens: 3, images: 4 };
    const groups = [
      group('0.1', { model: 'a', usage: counts }),
      group('0.2', { model: 'b', usage: { audioInputTokens: 5 } }),
      group('0.2', { model: 'a', usage: { cacheWrite1hTokens: 7, audioOutputTokens: 1 } }),
    ];
    assert.deepEqual(sumGroups(groups, ofModel, 'all'), [
      { id: 'a', name: 'a', calls: 2, inputTokens: 10, outputTokens: 4, netChargeYuan: '0.3' },
      { id: 'b', name: 'b', calls: 1, inputTokens: 5, outputTokens: 0, netChargeYuan: '0.2' },
      { id: null, name: 'all', calls: 3, inputTokens: 15, outputTokens: 4, netChargeYuan: '0.5' },
    ]);
    assert.deepEqual([inputTokensOf({}), outputTokensOf({})], [0, 0]);
  });

  it('separate two keys of the same name by prefix', () => {
    const days = ['2026-11-22', '2026-11-23'];
    const ci = { keyName: 'ci', day: days[0] };
    const groups = [
      group('1', { ...ci, keyId: 'key_1', keyPrefix: 'sk-fg-AAAA' }),
      group('2', { ...ci, keyId: 'key_2', keyPrefix: 'sk-fg-BBBB' }),
      group('4', { ...ci, keyId: 'key_1', keyPrefix: 'sk-fg-AAAA', day: days[1] }),
    ];
    const names = ['ci · sk-fg-AAAA', 'ci · sk-fg-BBBB'];
    assert.deepEqual(
      sumGroups(groups, ofKey, 'all').map(({ name, netChargeYuan }) => [name, netChargeYuan]),
      [...[5, 2].map((sum, place) => [names[place], String(sum)]), ['all', '7']],
    );
    assert.deepEqual(
      sharesOf(groups, 'charge', ofKey).map(({ part, value }) => [part?.name, value]),
      [
        [names[0], 5],
        [names[1], 2],
      ],
    );
    const { bars, parts } = barsOf(groups, days, 'charge', ofKey);
    assert.deepEqual(
      parts.map((part) => part?.name),
      names,
    );
    assert.deepEqual(bars, [
      { day: days[0], part0: 1, part1: 2 },
      { day: days[1], part0: 4 },
    ]);
  });

  it('name an unnamed key by its prefix, and an unknown key by its id', () => {
    assert.equal(ofKey(group('1', { keyId: 'key_1', keyName: null, keyPrefix: 'sk-fg-AAAA' })).name, 'sk-fg-AAAA');
    assert.equal(ofKey(group('1', { keyId: 'key_1', keyName: null, keyPrefix: null })).name, 'key_1');
    assert.equal(ofKey(group('1')).name, 'unknown key');
  });

  it('group everything beyond the number of colours as others', () => {
    const models = Array.from({ length: PARTS_MAX + 3 }, (_, i) => `model-${i}`);
    // Model names may equal member names of a bar.
    const groups = [...models, 'day', 'part0'].map((model, i) => group(String(i + 1), { model, day: '2026-11-23' }));
    const shares = sharesOf(groups, 'charge', ofModel);
    assert.deepEqual(shares.at(-1), { part: null, value: 1 + 2 + 3 + 4 + 5 });
    assert.equal(shares[0]!.part?.name, 'part0');
    const { bars, parts } = barsOf(groups, ['2026-11-22', '2026-11-23'], 'charge', ofModel);
    assert.deepEqual([parts.length, parts.at(-1), bars[0]], [PARTS_MAX + 1, null, { day: '2026-11-22' }]);
    const { day, ...sums } = bars[1]!;
    assert.deepEqual([day, sums.part0, sums.part8], ['2026-11-23', 13, 15]);
    assert.equal(
      Object.values(sums).reduce((sum, value) => sum + value, 0),
      groups.reduce((sum, { netChargeYuan }) => sum + Number(netChargeYuan), 0),
    );
  });
});
