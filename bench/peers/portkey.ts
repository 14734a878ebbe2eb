import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from '../../test/support/cache-directory.ts';
import { freePort } from '../../test/support/free-port.ts';
import { passedOn } from '../targets.ts';
import { startPeer } from './child.ts';
import { CHAT_KINDS, type FoundPeer } from './peer.ts';

const PACKAGE = '@portkey-ai/gateway';
const VERSION = '1.15.2';

/** Portkey's gateway from the npm registry. It has no accounts; each call names provider and credential. */
export function findPortkey(): FoundPeer {
  const name = `Portkey ${VERSION}`;
  const directory = cacheDirectory(`portkey-${VERSION}`);
  const program = join(directory, 'node_modules', PACKAGE, 'build/start-server.js');
  if (!existsSync(program) && !install(directory))
    return { name, missing: `npm could not fetch ${PACKAGE}@${VERSION}` };
  return {
    name,
    serves: (kind) => CHAT_KINDS.has(kind),
    async start(stage, scenario) {
      const port = await freePort();
      const headers = { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${stage.providerUrl}/v1` };
      const call = { ...passedOn(scenario, `http://127.0.0.1:${port}`), headers };
      const command = [process.execPath, program, `--port=${port}`, '--headless'];
      return startPeer(name, command, { NODE_ENV: 'production' }, call);
    },
  };
}

/** Downloads it once for all runs on this machine. Output of npm goes to standard error. */
function install(directory: string): boolean {
  mkdirSync(directory, { recursive: true });
  const command = ['install', '--no-audit', '--no-fund', '--prefix', directory, `${PACKAGE}@${VERSION}`];
  return spawnSync('npm', command, { stdio: ['ignore', 2, 2] }).status === 0;
}
