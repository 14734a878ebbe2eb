import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { pythonEnvironment } from '../../test/support/python.ts';
import { passedOn } from '../targets.ts';
import { startPeer } from './child.ts';
import { CHAT_KINDS, type FoundPeer } from './peer.ts';

const VERSION = '1.108.7';

/** LiteLLM's proxy from PyPI, with one worker and without a database, so that it checks a single key and records no spending. */
export function findLitellm(): FoundPeer {
  const name = `LiteLLM ${VERSION}`;
  const python = pythonEnvironment(`litellm-${VERSION}`, [`litellm[proxy]==${VERSION}`]);
  if (python.missing !== null) return { name, missing: python.missing };
  return {
    name,
    serves: (kind) => CHAT_KINDS.has(kind),
    async start(stage, scenario) {
      const own = join(stage.directory, stage.uniqueName());
      mkdirSync(own);
      const config = join(own, 'config.yaml');
      writeFileSync(config, configText(stage.providerUrl));
      const port = await freePort();
      const call = { ...passedOn(scenario, `http://127.0.0.1:${port}`), keys: ['sk-bench'] };
      const address = ['--host', '127.0.0.1', '--port', String(port)];
      const command = [python.program('litellm'), '--config', config, ...address, '--num_workers', '1'];
      // Uses the prices in the package, and disables telemetry.
      const environment = { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR', LITELLM_MODE: 'PRODUCTION' };
      return startPeer(name, command, environment, call);
    },
  };
}

function configText(providerUrl: string): string {
  return `
model_list:
  - model_name: bench-model
    litellm_params: { model: openai/bench-upstream, api_base: "${providerUrl}/v1", api_key: bench }
litellm_settings: { telemetry: false, num_retries: 0 }
general_settings: { master_key: sk-bench }
`;
}
