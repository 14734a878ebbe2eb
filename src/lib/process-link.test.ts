import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { linkTo } from '../../test/support/linked.ts';
import { LinkClosedError } from './process-link.ts';

describe('a link between two processes', () => {
  it('brings each reply to its asker, whichever comes first', async () => {
    const later = Promise.withResolvers<string>();
    const { asker } = linkTo({ slow: () => later.promise, twice: (number: number) => number * 2 });
    const slow = asker.ask('slow');
    assert.deepEqual(await Promise.all([asker.ask('twice', 1), asker.ask('twice', 2)]), [2, 4]);
    later.resolve('at last');
    assert.equal(await slow, 'at last');
  });

  it('tells in order, before what is asked behind it', async () => {
    const heard: number[] = [];
    const { asker } = linkTo({ hear: (number: number) => void heard.push(number), heard: () => heard });
    for (const number of [1, 2, 3]) asker.tell('hear', number);
    assert.deepEqual(await asker.ask('heard'), [1, 2, 3]);
  });

  it('brings a failure of the other side, and one that the other side does not know', async () => {
    const { asker } = linkTo({ fails: () => Promise.reject(new Error('no disk')) });
    await assert.rejects(asker.ask('fails'), /failed at "fails": no disk/);
    await assert.rejects(asker.ask('unknown'), /failed at "unknown": it is not known there/);
  });

  it('leaves nobody waiting for a process that is gone', async () => {
    const { asker, ends } = linkTo({ never: () => new Promise(() => undefined) });
    const waiting = asker.ask('never');
    asker.close();
    await assert.rejects(waiting, LinkClosedError);
    await assert.rejects(asker.ask('never'), LinkClosedError);
    const { asker: unheard, ends: cut } = linkTo({});
    cut[0].other = null;
    await assert.rejects(unheard.ask('anything'), LinkClosedError);
    // What is no message of a link is for others.
    ends[0].emit('message', 'hello');
  });
});
