import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StreamOpening } from './stream-opening.ts';

const event = (type: string): Buffer => Buffer.from(`event: ${type}\ndata: {"type":"${type}"}\n\n`);

describe('the opening of a stream', () => {
  it('is kept and counted until it is sent as a whole; events with content are never kept', () => {
    const sent: string[] = [];
    const opening = new StreamOpening((bytes) => sent.push(bytes.toString()));
    const [start, ping, delta] = ['message_start', 'ping', 'content_block_delta'].map(event) as [
      Buffer,
      Buffer,
      Buffer,
    ];
    assert.deepEqual([opening.keep(start), opening.keep(ping), opening.keep(delta)], [true, true, false]);
    assert.deepEqual([opening.keptBytes, sent], [start.length + ping.length, []]);
    opening.sendKept();
    opening.sendKept();
    assert.deepEqual([opening.keptBytes, sent], [0, [start.toString(), ping.toString()]]);
    assert.equal(opening.keep(ping), false);
  });
});
