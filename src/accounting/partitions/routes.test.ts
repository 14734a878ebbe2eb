import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../../errors/gateway-error.ts';
import {
  askedByPartition,
  createKnownPartitions,
  createRoutes,
  firstFound,
  ofEachPartition,
  PartitionError,
} from './routes.ts';

const routesOf = <Part>(...parts: readonly Part[]) => createRoutes(parts, { find: () => 0 });
const never = new Promise<never>(() => undefined);

describe('questions to several partitions', () => {
  it('return the result of the partition that has one, although others fail or do not respond', async () => {
    const asked = routesOf<() => Promise<string | null>>(
      () => never,
      async () => {
        throw new Error('down');
      },
      async () => null,
      async () => 'found',
    );
    assert.equal(await firstFound(asked, (ask) => ask()), 'found');
  });

  it('fail with the number of a failed partition if no other one has a result', async () => {
    const cause = Object.assign(new Error('down'), { code: 'ECONNRESET' });
    const failing = [async () => null, () => Promise.reject(cause)];
    for (const ask of [firstFound, ofEachPartition]) {
      const failure = await ask(routesOf(...failing), (work: () => Promise<null>) => work()).then(
        () => assert.fail('it succeeded'),
        (error: unknown) => error,
      );
      assert.ok(failure instanceof PartitionError);
      assert.deepEqual([failure.partition, failure.code, failure.cause], [1, 'ECONNRESET', cause]);
    }
    const refusal = new GatewayError('databaseSilent');
    await assert.rejects(
      firstFound(
        routesOf(
          async () => null,
          () => Promise.reject(refusal),
        ),
        (work) => work(),
      ),
      refusal,
    );
    assert.equal(
      await firstFound(
        routesOf(
          async () => null,
          async () => null,
        ),
        (work) => work(),
      ),
      null,
    );
  });

  it('read the partitions of the accounts of a list by one statement, and cache them', async () => {
    const reads: string[][] = [];
    const known = createKnownPartitions(
      {
        async find(accountIds) {
          reads.push([...accountIds]);
          return accountIds
            .filter((accountId) => accountId !== 'nobody')
            .map((accountId) => ({ accountId, partition: Number(accountId.at(-1)) }));
        },
      },
      { ask: (question) => question(new AbortController().signal) },
    );
    const routes = createRoutes(['p0', 'p1', 'p2'], known);
    const ask = () =>
      askedByPartition(
        routes,
        ['a1', 'b2', 'c1', 'nobody', 'a1'],
        (item) => item,
        async (part, items) => `${part}: ${items.join(' ')}`,
      );
    assert.deepEqual(await ask(), ['p1: a1 c1 a1', 'p2: b2', 'p0: nobody']);
    assert.deepEqual(reads, [['a1', 'b2', 'c1', 'nobody']]);
    await ask();
    assert.deepEqual(reads.slice(1), [['nobody']]);
    known.note('nobody', 2);
    assert.equal(routes.of('nobody'), 'p2');
  });
});
