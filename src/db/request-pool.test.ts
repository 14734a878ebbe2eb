import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ErrorKind, errorCatalogue } from '../errors/catalogue.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { DatabasePool } from './database.ts';
import { PoolFullError, StatementError } from './errors.ts';
import { requestPool } from './request-pool.ts';

const STATEMENT = { name: 'test.fails', text: 'select' };

async function refusalOf(error: Error, partition: number | null): Promise<unknown> {
  const failing: DatabasePool = {
    query: () => Promise.reject(error),
    transaction: () => Promise.reject(error),
    transactionWithDirectory: () => Promise.reject(error),
  };
  const pool = requestPool(failing, partition);
  const failures = await Promise.all(
    [pool.query(STATEMENT), pool.transaction(async () => undefined)].map((work) =>
      work.then(
        () => assert.fail('the work must fail'),
        (failure: unknown) => failure,
      ),
    ),
  );
  assert.deepEqual(String(failures[0]), String(failures[1]));
  return failures[0];
}

describe('a connection pool for requests', () => {
  const silent = new StatementError('test.fails', 'Query read timeout', undefined, undefined);
  const full = new PoolFullError('admin', 64);

  for (const [name, error, kind, status] of [
    ['reports a database that does not respond', silent, 'databaseSilent', 500],
    ['reports a full queue', full, 'overloaded', 503],
  ] as const satisfies readonly (readonly [string, Error, ErrorKind, number])[]) {
    it(`${name}, with the partition number if there are several`, async () => {
      const { message } = errorCatalogue[kind];
      for (const [partition, expected] of [
        [null, message],
        [2, `Partition 2: ${message}`],
      ] as const) {
        const refusal = await refusalOf(error, partition);
        assert.ok(refusal instanceof GatewayError);
        assert.deepEqual([refusal.kind, refusal.status, refusal.headers['retry-after']], [kind, status, '2']);
        assert.equal(refusal.message, expected);
        assert.equal(refusal.cause, error);
      }
    });
  }

  it('passes on other errors unchanged', async () => {
    const refused = new StatementError('test.fails', 'out of range', '22003', undefined);
    assert.equal(await refusalOf(refused, 2), refused);
  });
});
