import { credentialsOf } from '../config/provider-credentials.ts';
import type { Config, ProviderConfig } from '../config/schema.ts';
import { invalidRequest } from '../errors/gateway-error.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import type { Provider } from '../providers/upstream/provider.ts';
import { type DialectSearch, searchDialect } from './dialect-search/dialect-search.ts';
import { wordsOf } from './failure-words.ts';
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
    credentials: await credentialsIn(providers.get(name), provider),
    catalog,
    mountedNames: config.server.protocolNames[provider.protocol],
    clock,
  });
}

/** Finds the dialect of a provider; `null` if there is no such provider. */
export async function searchDialectOf(
  { config, catalog, providers }: Settings,
  name: string,
  model: string | null,
  clock: Clock,
): Promise<DialectSearch | null> {
  const provider = Object.hasOwn(config.providers, name) ? config.providers[name] : undefined;
  if (provider === undefined) return null;
  return searchDialect(model, {
    provider: providers.get(name),
    baseUrl: provider.baseUrl,
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
    credentials: await credentialsIn(providers.get(name), provider),
    mountedNames: config.server.protocolNames[provider.protocol],
  });
}

/**
 * The credentials in the order of the configuration. Waits for those of commands.
 * @throws GatewayError `invalidRequest` if the provider has only those of commands, and no command gives one
 */
async function credentialsIn({ credentials }: Provider, config: ProviderConfig) {
  const configured = credentialsOf(config);
  if (configured.every(({ command }) => command === undefined)) return configured;
  try {
    await credentials.available();
  } catch (error) {
    throw invalidRequest(`The provider has no credential. ${wordsOf(error)}`, 'name');
  }
  return credentials.valid;
}

export function createProviderTester(config: Config) {
  const settings = createSettings(config);
  settings.providers.useCredentials();
  return {
    test: (name: string, asked: Asked) => testProviderOf(settings, name, asked, systemClock),
    searchDialect: (name: string, model: string | null) => searchDialectOf(settings, name, model, systemClock),
    close: () => settings.providers.close(),
  };
}
