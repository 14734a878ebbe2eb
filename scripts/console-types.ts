import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type ApiDocument, endpointTypes } from './endpoint-types.ts';

/**
 * Writes the types by which the console asks the gateway, from the document that the gateway serves at /openapi.json.
 *
 *   npm run console:types
 *
 * `test/console/types.test.ts` fails if they are not what the document says.
 */
const OUT = fileURLToPath(new URL('../console/src/api/types.ts', import.meta.url));
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

const directory = mkdtempSync(join(tmpdir(), 'faregate-types-'));
const gateway = spawn(process.execPath, [MAIN, 'serve'], {
  env: { ...process.env, FAREGATE_DATA_DIR: directory, PORT: '0' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  writeFileSync(OUT, endpointTypes(await readDocument()));
  console.log('console/src/api/types.ts is written.');
} finally {
  gateway.kill();
  await once(gateway, 'exit');
  rmSync(directory, { recursive: true, force: true });
}

async function readDocument(): Promise<ApiDocument> {
  for await (const line of createInterface({ input: gateway.stdout! })) {
    const url = /^listening on (\S+)/.exec(line)?.[1];
    if (url !== undefined) return (await (await fetch(`${url}/openapi.json`)).json()) as ApiDocument;
  }
  throw new Error('The gateway ended before it listened.');
}
