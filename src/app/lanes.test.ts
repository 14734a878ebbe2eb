import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Lane } from '../db/database.ts';
import { LaneFullError, StatementError } from '../db/errors.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { requestLane } from './lanes.ts';

const STATEMENT = { name: 'test.fails', text: 'select' };

async function refusalOf(error: Error, partition: number | null): Promise<unknown> {
  const failing: Lane = {
    query: () => Promise.reject(error),
    transaction: () => Promise.reject(error),
    transactionWithDirectory: () => Promise.reject(error),
  };
  const lane = requestLane(failing, partition);
  const failures = await Promise.all(
    [lane.query(STATEMENT), lane.transaction(async () => undefined)].map((work) =>
      work.then(
        () => assert.fail('it has not failed'),
        (failure: unknown) => failure,
      ),
    ),
  );
  assert.deepEqual(String(failures[0]), String(failures[1]));
  return failures[0];
}

describe('a lane of requests', () => {
  const silent = new StatementError('test.fails', 'Query read timeout', undefined, undefined);
  const full = new LaneFullError('admin', 64);

  it('says that the database does not respond, and which partition of several', async () => {
    for (const [partition, begin] of [
      [null, "The gateway's database does"],
      [2, "Partition 2 of the gateway's database does"],
    ] as const) {
      const refusal = await refusalOf(silent, partition);
      assert.ok(refusal instanceof GatewayError);
      assert.deepEqual([refusal.kind, refusal.status, refusal.headers['retry-after']], ['databaseSilent', 500, '2']);
      assert.ok(refusal.message.startsWith(begin), refusal.message);
      assert.equal(refusal.cause, silent);
    }
  });

  it('says what too many requests wait for', async () => {
    for (const [partition, begin] of [
      [null, 'Requests take as much of this node as it has for them'],
      [2, 'Requests take as much of partition 2 as this node has for them'],
    ] as const) {
      const refusal = await refusalOf(full, partition);
      assert.ok(refusal instanceof GatewayError);
      assert.deepEqual([refusal.kind, refusal.status], ['overloaded', 503]);
      assert.ok(refusal.message.startsWith(begin), refusal.message);
    }
  });

  it('hands on what is no fault of the connection', async () => {
    const refused = new StatementError('test.fails', 'out of range', '22003', undefined);
    assert.equal(await refusalOf(refused, 2), refused);
  });
});
