import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it } from 'node:test';
import { type Channel, type Handlers, LinkClosedError, ProcessLink } from './process-link.ts';

/** Two ends of a channel that passes messages on as copies, as processes do. */
class End extends EventEmitter implements Channel {
  other: End | null = null;

  send(message: object, done: (error: Error | null) => void): void {
    const { other } = this;
    const copy: unknown = structuredClone(message);
    queueMicrotask(() => {
      if (other === null) done(new Error('closed'));
      else other.emit('message', copy);
    });
  }
}

function link(handlers: Handlers): { asker: ProcessLink; ends: readonly [End, End] } {
  const [one, other] = [new End(), new End()];
  one.other = other;
  other.other = one;
  new ProcessLink(other, handlers);
  return { asker: new ProcessLink(one, {}), ends: [one, other] };
}

describe('a link between two processes', () => {
  it('brings each reply to its asker, whichever comes first', async () => {
    const later = Promise.withResolvers<string>();
    const { asker } = link({ slow: () => later.promise, twice: (number: number) => number * 2 });
    const slow = asker.ask('slow');
    assert.deepEqual(await Promise.all([asker.ask('twice', 1), asker.ask('twice', 2)]), [2, 4]);
    later.resolve('at last');
    assert.equal(await slow, 'at last');
  });

  it('tells in order, before what is asked behind it', async () => {
    const heard: number[] = [];
    const { asker } = link({ hear: (number: number) => void heard.push(number), heard: () => heard });
    for (const number of [1, 2, 3]) asker.tell('hear', number);
    assert.deepEqual(await asker.ask('heard'), [1, 2, 3]);
  });

  it('brings a failure of the other side, and one that the other side does not know', async () => {
    const { asker } = link({ fails: () => Promise.reject(new Error('no disk')) });
    await assert.rejects(asker.ask('fails'), /failed at "fails": no disk/);
    await assert.rejects(asker.ask('unknown'), /failed at "unknown": it is not known there/);
  });

  it('leaves nobody waiting for a process that is gone', async () => {
    const { asker, ends } = link({ never: () => new Promise(() => undefined) });
    const waiting = asker.ask('never');
    asker.close();
    await assert.rejects(waiting, LinkClosedError);
    await assert.rejects(asker.ask('never'), LinkClosedError);
    const { asker: unheard, ends: cut } = link({});
    cut[0].other = null;
    await assert.rejects(unheard.ask('anything'), LinkClosedError);
    // What is no message of a link is for others.
    ends[0].emit('message', 'hello');
  });
});
