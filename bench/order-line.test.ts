import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { openOrderLine } from './order-line.ts';

const ORDERS = new URL('./orders.ts', import.meta.url).href;
/** Doubles its orders. Runs for a minute unless it is stopped. */
const TARGET = `
  import { isTarget, ORDERS_PORT, replyToOrders } from '${ORDERS}';
  if (isTarget) replyToOrders(async ({ value }) => ({ value: value * 2, isPassedOn: ORDERS_PORT in process.env }));
  setTimeout(() => {}, 60_000);
  process.on('SIGINT', () => process.exit(3));
`;

function start(environment: Readonly<Record<string, string>>): ChildProcess {
  const args = ['--input-type=module', '--eval', TARGET];
  return spawn(process.execPath, args, { env: { PATH: process.env.PATH, ...environment }, stdio: 'inherit' });
}

describe('line to a target of the bench', () => {
  it('transmits orders and replies, and stops the target when it closes', async () => {
    const line = await openOrderLine();
    const child = start(line.environment);
    assert.deepEqual(await line.ask({ value: 2 }), { value: 4, isPassedOn: false });
    assert.deepEqual(await line.ask({ value: 3 }), { value: 6, isPassedOn: false });
    line.close();
    assert.deepEqual(await once(child, 'exit'), [3, null]);
  });

  it('rejects an order to a target that has exited', async () => {
    const line = await openOrderLine();
    const child = start(line.environment);
    await line.ask({ value: 2 });
    child.kill('SIGKILL');
    await assert.rejects(line.ask({ value: 2 }), /^Error: a target of the bench ended early$/);
    await assert.rejects(line.ask({ value: 2 }), /^Error: a target of the bench ended early$/);
  });

  it('rejects an order if it closes before a target connects', async () => {
    const line = await openOrderLine();
    const asked = line.ask({ value: 2 });
    line.close();
    await assert.rejects(asked, /^Error: a target of the bench ended early$/);
  });
});
