import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { linkTo } from '../../test/support/linked.ts';
import { LinkClosedError } from './process-link.ts';

describe('ProcessLink', () => {
  it('delivers each reply to its caller, whichever arrives first', async () => {
    const later = Promise.withResolvers<string>();
    const { asker } = linkTo({ slow: () => later.promise, twice: (number: number) => number * 2 });
    const slow = asker.ask('slow');
    assert.deepEqual(await Promise.all([asker.ask('twice', 1), asker.ask('twice', 2)]), [2, 4]);
    later.resolve('at last');
    assert.equal(await slow, 'at last');
  });

  it('delivers notifications in order, and before later requests', async () => {
    const heard: number[] = [];
    const { asker } = linkTo({ hear: (number: number) => void heard.push(number), heard: () => heard });
    for (const number of [1, 2, 3]) asker.tell('hear', number);
    assert.deepEqual(await asker.ask('heard'), [1, 2, 3]);
  });

  it('reports failures of the other side, and unknown names', async () => {
    const { asker } = linkTo({ fails: () => Promise.reject(new Error('no disk')) });
    await assert.rejects(asker.ask('fails'), /failed to handle "fails": no disk/);
    await assert.rejects(asker.ask('unknown'), /failed to handle "unknown": it has no handler for this message/);
  });

  it('fails requests to a process that has exited', async () => {
    const { asker, ends } = linkTo({ never: () => new Promise(() => undefined) });
    const waiting = asker.ask('never');
    asker.close();
    await assert.rejects(waiting, LinkClosedError);
    await assert.rejects(asker.ask('never'), LinkClosedError);
    const { asker: unheard, ends: cut } = linkTo({});
    cut[0].other = null;
    await assert.rejects(unheard.ask('anything'), LinkClosedError);
    // Other messages on the channel are ignored.
    ends[0].emit('message', 'hello');
  });
});
