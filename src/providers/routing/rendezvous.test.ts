import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rendezvousOrder } from './rendezvous.ts';

interface Candidate {
  readonly name: string;
  readonly weight: number;
}
const KEYS = Array.from({ length: 6_000 }, (_, i) => `session-${i}`);
const order = (key: string, candidates: readonly Candidate[]) =>
  rendezvousOrder(key, candidates, (candidate) => candidate).map(({ name }) => name);

describe('rendezvous hashing', () => {
  const three = [
    { name: 'a', weight: 1 },
    { name: 'b', weight: 2 },
    { name: 'c', weight: 3 },
  ];

  it('does not depend on the order of the candidates', () => {
    for (const key of KEYS.slice(0, 50)) assert.deepEqual(order(key, three), order(key, three.toReversed()));
  });

  it('prefers candidates in proportion to their weights', () => {
    const first = Map.groupBy(KEYS, (key) => order(key, three)[0]!);
    for (const { name, weight } of three) {
      const share = first.get(name)!.length / KEYS.length;
      assert.ok(Math.abs(share - weight / 6) < 0.02, `${name}: ${share}`);
    }
  });

  it('moves only the keys of a removed candidate, each to its second choice', () => {
    for (const key of KEYS.slice(0, 500)) {
      const [first, second] = order(key, three);
      const left = three.filter(({ name }) => name !== 'c');
      assert.equal(order(key, left)[0], first === 'c' ? second : first);
    }
  });
});
