import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../processes.ts';
import { passedOn } from '../targets.ts';
import { install, peerDirectory, startPeer } from './child.ts';
import { CHAT_KINDS, type FoundPeer } from './peer.ts';

/** LiteLLM's proxy from PyPI, one worker without a database: then it checks one key and records no spending. */
export function findLitellm(): FoundPeer {
  const directory = peerDirectory('litellm');
  const program = join(directory, 'bin/litellm');
  const python = join(directory, 'bin/python');
  if (!existsSync(program)) {
    if (spawnSync('python3', ['-c', 'import venv']).status !== 0) {
      return { name: 'LiteLLM', missing: 'there is no Python 3 with venv' };
    }
    const isInstalled =
      install(['python3', '-m', 'venv', directory]) &&
      install([python, '-m', 'pip', 'install', '--quiet', 'litellm[proxy]']);
    if (!isInstalled || !existsSync(program)) return { name: 'LiteLLM', missing: 'pip could not fetch litellm[proxy]' };
  }
  const ask = 'import importlib.metadata; print(importlib.metadata.version("litellm"))';
  const name = `LiteLLM ${spawnSync(python, ['-c', ask], { encoding: 'utf8' }).stdout.trim()}`;
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
      const command = [
        program,
        '--config',
        config,
        '--host',
        '127.0.0.1',
        '--port',
        String(port),
        '--num_workers',
        '1',
      ];
      // Prices come from the package, and nothing is reported to its makers.
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
