import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../test/support/scope.ts';
import { type HashAsker, HashQueue } from './hash-queue.ts';

function scene(waitingMax: number) {
  const queue = new HashQueue(waitingMax);
  const log: string[] = [];
  return {
    queue,
    push: (name: string, network: string, isKnown: HashAsker['isKnown'] = false) =>
      queue.push(
        { network, isKnown },
        () => log.push(name),
        () => log.push(`${name} gave way`),
      ),
    serveAll(): string[] {
      while (queue.beginNext());
      return log.splice(0);
    },
    log,
  };
}

/** The networks of 64 bits of one home line, and of another line of the same network of 48 bits. */
const home = (i: number) => `2001:db8:1:${(0x4200 + i).toString(16)}::/64`;
const neighbour = (i: number) => `2001:db8:1:${(0x4300 + i).toString(16)}::/64`;

describe('HashQueue', () => {
  it('serves sites in turn, and the lines of a site in turn', () => {
    const { push, serveAll } = scene(100);
    for (let i = 0; i < 4; i++) push(`home ${i}`, home(i));
    push('neighbour', neighbour(0));
    push('elsewhere', '2001:db8:2:1::/64');
    push('address', '192.0.2.7');
    assert.deepEqual(serveAll(), ['home 0', 'elsewhere', 'address', 'neighbour', 'home 1', 'home 2', 'home 3']);
  });

  it('serves a site that waits, however many new sites arrive', () => {
    const { queue, push, log } = scene(100);
    for (const name of ['first', 'second']) push(name, '192.0.2.1');
    for (let i = 0; i < 20; i++) {
      push(`new ${i}`, `198.51.100.${i}`);
      queue.beginNext();
    }
    assert.deepEqual(log.slice(0, 3), ['first', 'new 0', 'second']);
  });

  it('serves known persons first', () => {
    const { push, serveAll } = scene(100);
    for (let i = 0; i < 3; i++) push(`stranger ${i}`, `192.0.2.${i}`);
    push('known', '198.51.100.1', true);
    assert.equal(serveAll()[0], 'known');
  });

  it('gives places of a site that has filled the queue to others, and none to further requests of that site', () => {
    const { push, log, serveAll } = scene(4);
    for (let i = 0; i < 4; i++) assert.equal(push(`home ${i}`, home(i)), true);
    assert.equal(push('home 4', home(4)), false);
    assert.equal(push('neighbour', neighbour(0)), false);
    assert.equal(push('elsewhere', '192.0.2.7'), true);
    assert.equal(push('known', home(9), true), true);
    assert.deepEqual(log.splice(0), ['home 3 gave way', 'home 2 gave way']);
    assert.deepEqual(serveAll(), ['known', 'home 0', 'elsewhere', 'home 1']);
  });

  it('refuses known persons beyond the limit if no stranger can give way', () => {
    const { push } = scene(1);
    assert.equal(push('known', '192.0.2.1', true), true);
    assert.equal(push('known', '192.0.2.2', true), false);
  });

  it('never exceeds its limit, and serves or displaces each request once', () => {
    const networks = [home(0), home(1), neighbour(0), '2001:db8:2:1::/64', '192.0.2.1', '192.0.2.2'];
    const step = fc.oneof(
      { arbitrary: fc.record({ network: fc.constantFrom(...networks), isKnown: fc.boolean() }), weight: 3 },
      { arbitrary: fc.constant('serve' as const), weight: 1 },
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 60 }), (waitingMax, steps) => {
        const queue = new HashQueue(waitingMax);
        const waiting = new Set<number>();
        const leave = (id: number) => () => assert.ok(waiting.delete(id), 'a request left twice');
        for (const [id, next] of steps.entries()) {
          if (next === 'serve') {
            const isEmpty = waiting.size === 0;
            assert.equal(queue.beginNext(), !isEmpty);
          } else {
            waiting.add(id);
            if (!queue.push(next, leave(id), leave(id))) waiting.delete(id);
          }
          assert.equal(queue.size, waiting.size);
          assert.ok(queue.size <= waitingMax);
        }
        while (queue.beginNext());
        assert.equal(waiting.size, 0);
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});
