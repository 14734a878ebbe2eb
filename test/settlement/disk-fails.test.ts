import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { test } from 'node:test';
import { call } from '../support/client.ts';
import { placeEmbedded, storedIn } from '../support/database.ts';
import { EngineSyncs } from '../support/engine-syncs.ts';
import { type Family, families } from '../support/families.ts';
import { makeFastDirectory } from '../support/fast-directory.ts';
import { startGateway } from '../support/gateway.ts';
import { afterwards, countCharges, journalEntries, success } from './outage.ts';

const [chat] = families as [Family];
const REQUEST = { model: 'test-both', max_tokens: 50, messages: [{ role: 'user', content: 'Say hello.' }] };

for (const [what, order] of [
  ['the disk fails under the embedded database', 'fail'],
  ['the thread of the embedded database ends', 'end the thread'],
] as const) {
  test(`if ${what}, a success is delivered and charged by the next start, and new calls are refused`, {
    timeout: 300_000,
  }, async (context) => {
    const dataDir = makeFastDirectory('faregate-disk-');
    context.after(() => rmSync(dataDir, { recursive: true, force: true }));
    placeEmbedded(dataDir);
    const syncs = new EngineSyncs();
    const start = async () => {
      const stored = storedIn(dataDir, await syncs.open(dataDir));
      const gateway = await startGateway({ stored, dataDir });
      context.after(() => gateway.gateway.close().catch(() => undefined));
      context.after(() => gateway.provider.close());
      return gateway;
    };
    const gateway = await start();
    const account = await gateway.createAccount();
    gateway.provider.respond = afterwards(
      () => {
        syncs.order(order);
      },
      success(chat, false),
    );
    const delivered = await call(gateway.url + chat.path, account.key, REQUEST);
    assert.equal(delivered.status, 200, delivered.text);
    assert.equal(journalEntries(dataDir).length, 1);
    const refused = await call(gateway.url + chat.path, account.key, REQUEST);
    assert.ok([500, 503].includes(refused.status), refused.text);
    assert.equal(gateway.provider.requests.length, 1);
    const ready = await fetch(`${gateway.url}/readyz`);
    assert.equal(ready.status, 503);
    await ready.body?.cancel();
    await gateway.gateway.close();

    syncs.order('nothing else');
    const next = await start();
    assert.equal(await countCharges(next.stored, account.id), 1);
    await next.stop();
  });
}
