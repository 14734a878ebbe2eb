import { credentialsOf } from '../config/provider-credentials.ts';
import type { Config } from '../config/schema.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { listProviderModels, type ProviderModels } from './provider-models.ts';
import { type ProviderTest, testProvider } from './provider-test.ts';
import { createSettings, type Settings } from './settings.ts';

interface Asked {
  readonly model: string | null;
  readonly operation: string | null;
}

/** `null` if there is no such provider. */
export async function testProviderOf(
  { config, catalog, providers }: Settings,
  name: string,
  asked: Asked,
  clock: Clock,
): Promise<ProviderTest | null> {
  const provider = Object.hasOwn(config.providers, name) ? config.providers[name] : undefined;
  if (provider === undefined) return null;
  return testProvider(asked, {
    provider: providers.get(name),
    credentials: credentialsOf(provider),
    catalog,
    mountedNames: config.server.protocolNames[provider.protocol],
    clock,
  });
}

/** The models that a provider lists; `null` if there is no such provider. */
export async function modelsOf({ config, providers }: Settings, name: string): Promise<ProviderModels | null> {
  const provider = Object.hasOwn(config.providers, name) ? config.providers[name] : undefined;
  if (provider === undefined) return null;
  return listProviderModels({
    provider: providers.get(name),
    credentials: credentialsOf(provider),
    mountedNames: config.server.protocolNames[provider.protocol],
  });
}

export function createProviderTester(config: Config) {
  const settings = createSettings(config);
  settings.providers.useCredentials();
  return {
    test: (name: string, asked: Asked) => testProviderOf(settings, name, asked, systemClock),
    close: () => settings.providers.close(),
  };
}
