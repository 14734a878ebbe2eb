import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type HashAsker, HashQueue } from './hash-queue.ts';

function scene(waitingMax: number) {
  const queue = new HashQueue(waitingMax);
  const log: string[] = [];
  return {
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

/** The networks of 64 bits of one home line, and of another line of the same provider's network of 48 bits. */
const home = (i: number) => `2001:db8:1:${(0x4200 + i).toString(16)}::/64`;
const neighbour = (i: number) => `2001:db8:1:${(0x4300 + i).toString(16)}::/64`;

describe('passwords that wait to be hashed', () => {
  it('go by turns of sites, and within a site by turns of lines', () => {
    const { push, serveAll } = scene(100);
    for (let i = 0; i < 4; i++) push(`home ${i}`, home(i));
    push('neighbour', neighbour(0));
    push('elsewhere', '2001:db8:2:1::/64');
    push('address', '192.0.2.7');
    assert.deepEqual(serveAll(), ['home 0', 'elsewhere', 'address', 'neighbour', 'home 1', 'home 2', 'home 3']);
  });

  it('of persons who are known there go first', () => {
    const { push, serveAll } = scene(100);
    for (let i = 0; i < 3; i++) push(`stranger ${i}`, `192.0.2.${i}`);
    push('known', '198.51.100.1', true);
    assert.equal(serveAll()[0], 'known');
  });

  it('make room for others if one site has filled the queue, and nobody makes room for more of it', () => {
    const { push, log, serveAll } = scene(4);
    for (let i = 0; i < 4; i++) assert.equal(push(`home ${i}`, home(i)), true);
    assert.equal(push('home 4', home(4)), false);
    assert.equal(push('neighbour', neighbour(0)), false);
    assert.equal(push('elsewhere', '192.0.2.7'), true);
    assert.equal(push('known', home(9), true), true);
    assert.deepEqual(log.splice(0), ['home 3 gave way', 'home 2 gave way']);
    assert.deepEqual(serveAll(), ['known', 'elsewhere', 'home 0', 'home 1']);
  });

  it('of known persons alone are refused beyond the limit', () => {
    const { push } = scene(1);
    assert.equal(push('known', '192.0.2.1', true), true);
    assert.equal(push('known', '192.0.2.2', true), false);
  });
});
