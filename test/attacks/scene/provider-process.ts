import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BilledCall } from './bill.ts';
import { GoneError, ProviderCall, type Script } from './provider-call.ts';
import { responseParent } from './rpc.ts';
import { scripts } from './scripts.ts';

/** The provider of the scene, in its own process. It follows the script of each request, and bills its work. */

const calls: ProviderCall[] = [];

/** The work done for one caller. */
function bill(tag: string): BilledCall[] {
  return calls.filter((call) => call.tag === tag).map((call) => call.billed());
}

async function run(call: ProviderCall, script: Script): Promise<void> {
  try {
    await script(call);
  } catch (error) {
    if (error instanceof GoneError) return;
    console.error(`The provider cannot do ${call.script} for ${call.tag}:`, error);
    await call.sendJson(500, { error: { message: 'The script failed.', type: 'server_error' } });
  }
}

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    const tag = new URL(request.url ?? '', 'http://provider').searchParams.get('tag') ?? '';
    response.end(JSON.stringify(bill(tag)));
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('error', () => undefined);
  request.on('end', () => {
    const call = new ProviderCall(request, Buffer.concat(chunks), response);
    calls.push(call);
    const script = scripts[call.script];
    if (script === undefined) throw new Error(`The provider has no script ${call.script}.`);
    void run(call, script);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1');

responseParent({ url: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
