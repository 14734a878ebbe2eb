import assert from 'node:assert/strict';
import type { Databases } from '../../src/db/databases.ts';
import { TransferError } from '../../src/transfer/format.ts';
import { sql } from '../support/sql.ts';
import { exportedFrom, imported } from '../transfer/books.ts';
import type { Scene } from './over-both-scene.ts';

/** All operations that change the directory and a partition at once, as requests. */

/** `refused`: it can no longer be done. `unknown`: the client does not learn the result. */
export type Outcome = 'done' | 'refused' | 'failed' | 'unknown';

export interface Operation {
  readonly name: string;
  /** The result of repeating a completed request; by default `done`, without a change. */
  readonly again?: 'refused' | 'another';
  /** For operations with too many statements: the number of evenly spread moments to test. */
  readonly momentsMax?: number;
  /** The databases that it changes; by default the gateway's. */
  readonly changed?: (scene: Scene) => Pick<Databases, 'directory' | 'partitions'>;
  /** Prepares what the operation needs. The returned function sends the request, the same one each time. */
  prepare(scene: Scene): Promise<() => Promise<Outcome>>;
}

const DAY_MS = 86_400_000;
const LIMITS = { dailyCalls: 3, requestsPerMinute: 60 };
let made = 0;
const nextName = (): string => `name-${++made}`;

function outcomeOf({ status }: { readonly status: number }): Outcome {
  if (status < 300) return 'done';
  return status < 500 ? 'refused' : 'failed';
}

/** The prerequisites that a request creates. */
async function make({ g }: Scene, path: string, body: object, method = 'POST') {
  const response = await g.admin(method, path, body);
  assert.ok(response.status < 300, `${path}: ${response.status} ${JSON.stringify(response.body)}`);
  return response.body;
}

const makeAccount = (scene: Scene): Promise<{ readonly id: string }> =>
  make(scene, '/accounts', { name: nextName(), verified: true, balanceYuan: '5' });

async function makeKey(scene: Scene): Promise<{ readonly id: string; readonly accountId: string }> {
  const { id: accountId } = await makeAccount(scene);
  const { id } = await make(scene, `/accounts/${accountId}/keys`, { name: 'limited', ...LIMITS });
  return { id, accountId };
}

const insertRequest = {
  name: 'test.insert-request',
  text: `insert into account_requests (idempotency_key, request, account_id, created_at) values ($1, '', $2, now())
on conflict do nothing`,
};
const insertContinuation = {
  name: 'test.insert-continuation',
  text: `insert into continuation_keys (account_id, key, model, provider, made_at) values ($1, 'k', 'm', 'p', now())
on conflict do nothing`,
};

/** The imported export, created once. */
let books: string | null = null;

async function makeBooks(scene: Scene): Promise<string> {
  for (const _ of scene.watched.partitions) await makeKey(scene);
  return exportedFrom(scene.others);
}

export const OPERATIONS: readonly Operation[] = [
  // Exports while the database is small.
  {
    name: 'an import',
    again: 'refused',
    momentsMax: 4,
    changed: ({ target }) => target.others,
    async prepare(scene) {
      books ??= await makeBooks(scene);
      const text = books;
      await scene.target.clear();
      return () =>
        imported(scene.target.watched, text).then(
          () => 'done',
          (error) => (error instanceof TransferError ? 'refused' : 'failed'),
        );
    },
  },
  {
    name: 'rows of both homes',
    async prepare(scene) {
      const { id } = await makeAccount(scene);
      const name = nextName();
      const [{ place } = { place: 0 }] = await sql<{ place: number }>(
        scene.others.directory,
        'select partition_no as place from accounts where id = $1',
        [id],
      );
      const pool = scene.watched.partitions[place]!.pool('admin');
      return () => {
        const done = pool.transactionWithDirectory(async (transaction) => {
          await transaction.query(insertContinuation, [id]);
          await transaction.query(insertRequest, [name, id]);
        });
        return done.then(
          () => 'done',
          () => 'failed',
        );
      };
    },
  },
  {
    name: 'a new account',
    async prepare({ g }) {
      const name = nextName();
      const body = { name, verified: true, balanceYuan: '5' };
      return async () => outcomeOf(await g.admin('POST', '/accounts', body, { 'idempotency-key': name }));
    },
  },
  {
    name: 'a redeemed voucher',
    async prepare(scene) {
      const { id } = await makeAccount(scene);
      const { codes } = await make(scene, '/vouchers', { name: nextName(), count: 1, amountYuan: '3' });
      return async () => outcomeOf(await scene.g.admin('POST', `/accounts/${id}/vouchers`, { code: codes[0] }));
    },
  },
  {
    name: 'a key with limits',
    again: 'another',
    async prepare(scene) {
      const { id } = await makeAccount(scene);
      return async () => outcomeOf(await scene.g.admin('POST', `/accounts/${id}/keys`, { name: 'limited', ...LIMITS }));
    },
  },
  {
    name: 'a replaced key',
    again: 'refused',
    async prepare(scene) {
      const { id } = await makeKey(scene);
      return async () => outcomeOf(await scene.g.admin('POST', `/keys/${id}/replacement`, {}));
    },
  },
  {
    name: 'a forgotten key',
    async prepare(scene) {
      const { id } = await makeKey(scene);
      assert.equal((await scene.g.admin('DELETE', `/keys/${id}`)).status, 204);
      const at = new Date(Date.now() - 8 * DAY_MS);
      await sql(scene.others.directory, 'update api_keys set created_at = $2, revoked_at = $2 where id = $1', [id, at]);
      return async () => {
        await scene.g.gateway.housekeeping.round();
        return 'unknown';
      };
    },
  },
  {
    name: 'a changed threshold',
    async prepare(scene) {
      const { id } = await makeAccount(scene);
      await scene.g.gateway.notices.settle();
      const path = `/accounts/${id}/low-balance`;
      return async () => outcomeOf(await scene.g.admin('PUT', path, { thresholdYuan: '7' }));
    },
  },
  {
    name: 'a notice of a balance',
    async prepare(scene) {
      const { id } = await makeAccount(scene);
      await scene.g.gateway.notices.settle();
      await make(scene, `/accounts/${id}/adjustments`, { amountYuan: '-4.5', memo: 'low' });
      return () =>
        scene.g.gateway.notices.settle().then(
          () => 'done',
          () => 'failed',
        );
    },
  },
];
