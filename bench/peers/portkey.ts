import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../processes.ts';
import { passedOn } from '../targets.ts';
import { install, peerDirectory, startPeer } from './child.ts';
import { CHAT_KINDS, type FoundPeer } from './peer.ts';

const PACKAGE = '@portkey-ai/gateway';

/** Portkey's gateway from the npm registry. It keeps no accounts; provider and credential come with each call. */
export function findPortkey(): FoundPeer {
  const directory = peerDirectory('portkey');
  const root = join(directory, 'node_modules', PACKAGE);
  const program = join(root, 'build/start-server.js');
  if (!existsSync(program) && !install(['npm', 'install', '--no-audit', '--no-fund', '--prefix', directory, PACKAGE])) {
    return { name: 'Portkey', missing: `npm could not fetch ${PACKAGE}` };
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const name = `Portkey ${version}`;
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
