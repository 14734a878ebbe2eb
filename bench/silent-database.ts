import { resolve } from 'node:path';
import { readOptions } from '../scripts/read-options.ts';
import { startProxy } from '../test/support/proxy.ts';
import { startGatewayTarget } from './gateway-target.ts';
import { report, send, sendAll } from './paced-calls.ts';
import { REPOSITORY } from './revisions.ts';
import { startStage } from './stage.ts';
import { gatewayOrder } from './targets.ts';

/**
 * How long calls wait for a database that stops responding without closing its connections: 100 calls, 50 per second, through a proxy
 * that drops all packets. Prints median and maximum latency before and after.
 *
 *   node bench/silent-database.ts
 *   node bench/silent-database.ts --checkout directory   of another version, which has its node_modules
 */
const options = readOptions({ checkout: REPOSITORY });

const stage = await startStage(0, []);
const proxy = await startProxy(await stage.createDatabase());
const target = await startGatewayTarget(gatewayOrder(stage, resolve(options.checkout), proxy.url));

for (const key of target.balanceKeys) await send(target.url, key);
report('before it falls silent', await sendAll(target.url, target.balanceKeys));
proxy.swallowAll();
report('while it is silent', await sendAll(target.url, target.balanceKeys));
const openBefore = proxy.connections;
proxy.allow();
await new Promise((wait) => setTimeout(wait, 3_000));
report('three seconds after it responds again', await sendAll(target.url, target.balanceKeys));
console.log(`connections of the gateway at the end of the silence: ${openBefore}`);

await target.stop();
await proxy.close();
await stage.stop();
