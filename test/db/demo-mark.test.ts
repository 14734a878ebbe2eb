import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { checkDemoMark, DemoMarkError, type ServedAs, setDemoMark } from '../../src/db/demo-mark.ts';
import { UPGRADE_FIRST } from '../../src/lib/earliest.ts';
import { createBareDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';

const DEMO: ServedAs = { isDemo: true, demoAccountId: null };
const OWN: ServedAs = { isDemo: false, demoAccountId: null };
const ACCOUNT = 'acct_01k0000000000000000000000a';
/** `demo.json` is next to the database. */
const withFile = (served: ServedAs): ServedAs => ({ ...served, demoAccountId: ACCOUNT });

async function addAccount(database: Database): Promise<void> {
  await database.script(`insert into accounts (id, name, verified, status, created_at, updated_at)
values ('${ACCOUNT}', 'a', true, 'active', now(), now())`);
}

describe(`the demo's mark of a database`, () => {
  let stored: TestDatabase;

  async function decide(served: ServedAs): Promise<RegExp | null> {
    const before = await checkDemoMark(stored.database, served).then(
      () => null,
      (error: unknown) => error,
    );
    const decided = await setDemoMark(stored.database, served).then(
      () => null,
      (error: unknown) => error,
    );
    assert.equal(String(before), String(decided), 'what is read before a migration and after it differs');
    if (decided !== null) assert.ok(decided instanceof DemoMarkError, String(decided));
    return decided === null ? null : new RegExp(decided.reason.replaceAll(/[.()]/g, '\\$&'));
  }
  const accepts = async (served: ServedAs): Promise<void> => assert.equal(await decide(served), null);
  async function refuses(served: ServedAs, reason: RegExp): Promise<void> {
    assert.match(String(await decide(served)), reason);
  }

  const inNew = (name: string, test: () => Promise<void>): void => {
    it(name, async () => {
      stored = await createTestDatabase();
      try {
        await test();
      } finally {
        await stored.remove();
      }
    });
  };

  inNew('is set by the demo in a new database, which no other configuration serves from then on', async () => {
    await accepts(DEMO);
    await addAccount(stored.database);
    await accepts(DEMO);
    await refuses(OWN, /marked as demo: nobody has paid/);
    await refuses(withFile(OWN), /marked as demo/);
  });

  inNew('is decided by the first start, also before there are accounts', async () => {
    await accepts(OWN);
    await refuses(DEMO, /a gateway with another configuration has used it/);
    await addAccount(stored.database);
    await refuses(withFile(DEMO), /a gateway with another configuration has used it/);
    await accepts(OWN);
  });

  inNew('is not set if accounts are in a database that no gateway has served', async () => {
    await addAccount(stored.database);
    await refuses(DEMO, /accounts that the demo did not create/);
    await accepts(OWN);
    await accepts(withFile(OWN));
  });

  inNew('is missing if a demo of an earlier version created the database, which is refused with advice', async () => {
    await addAccount(stored.database);
    for (const served of [DEMO, OWN]) await refuses(withFile(served), /created by the demo of an earlier version/);
    await assert.rejects(setDemoMark(stored.database, withFile(DEMO)), (error: Error) =>
      error.message.includes(UPGRADE_FIRST),
    );
    await accepts(OWN);
  });

  it('is checked without changes if there are no tables yet', async () => {
    stored = await createBareDatabase();
    try {
      for (const served of [DEMO, OWN, withFile(DEMO)]) await checkDemoMark(stored.database, served);
    } finally {
      await stored.remove();
    }
  });
});

describe('the mark of a database on which several gateways start', () => {
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase();
  });
  after(() => stored.remove());

  it('is set by one of them, and the other kind is refused', async () => {
    const others = Array.from({ length: 6 }, () => stored.openAnother());
    try {
      const results = await Promise.allSettled(
        others.map((database, i) => setDemoMark(database, i % 2 === 0 ? DEMO : OWN)),
      );
      const done = results.map(({ status }) => status === 'fulfilled');
      assert.equal(done.filter((isDone) => isDone).length, 3, String(done));
      assert.ok(
        done.every((isDone, i) => isDone === done[i % 2]),
        String(done),
      );
    } finally {
      await Promise.all(others.map((database) => database.close()));
    }
  });
});
