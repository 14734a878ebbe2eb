import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** The document that a gateway serves at /openapi.json: of a demo that is started for it, and ends with it. */
export async function readApiDocument(): Promise<unknown> {
  const directory = mkdtempSync(join(tmpdir(), 'faregate-api-'));
  const gateway = spawn(process.execPath, [MAIN, 'serve'], {
    env: { ...process.env, FAREGATE_DATA_DIR: directory, FAREGATE_DEMO_DATA: 'none', PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    for await (const line of createInterface({ input: gateway.stdout })) {
      const url = /^listening on (\S+)/.exec(line)?.[1];
      if (url !== undefined) return await (await fetch(`${url}/openapi.json`)).json();
    }
    throw new Error('The gateway ended before it listened.');
  } finally {
    // A SIGTERM would be for load balancers, which it waits for.
    gateway.kill('SIGINT');
    if (gateway.exitCode === null && gateway.signalCode === null) await once(gateway, 'exit');
    rmSync(directory, { recursive: true, force: true });
  }
}
