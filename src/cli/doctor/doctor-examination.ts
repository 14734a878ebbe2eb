import { ConfigError } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { ConfigSource } from '../environment.ts';
import { checkDatabase } from './doctor-database.ts';
import { type Finding, failed, ok } from './doctor-finding.ts';
import {
  checkAddress,
  checkDataDirectory,
  checkMetricsAddress,
  checkOpenFiles,
  checkVersions,
} from './doctor-machine.ts';
import { checkProviders } from './doctor-providers.ts';

/** All that `faregate doctor` looks at, in the order in which it is shown. Without a configuration that can be used, it is little. */
export async function examine(source: ConfigSource, load: () => Config): Promise<readonly Finding[]> {
  const versions = checkVersions();
  let config: Config;
  try {
    config = load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [first, ...others] = error.problems;
    const more = others.length === 0 ? '' : `, and ${others.length} more`;
    const detail = `${error.file}:${first!.line}: ${first!.key}: ${first!.message}${more}`;
    return [versions, failed('configuration', detail, 'See all of it: faregate check. The other checks need it.')];
  }
  const { server, database, providers, models, plans } = config;
  const counts = `${count(providers, 'provider')}, ${count(models, 'model')}, ${count(plans, 'plan')}`;
  return [
    versions,
    ok('configuration', `${source.isDemo ? 'the demo' : source.file}: ${counts}`),
    ...checkDataDirectory(database),
    ...checkOpenFiles(server),
    await checkAddress(server),
    ...(await checkMetricsAddress(server)),
    ...(await checkDatabase(database, source.isDemo)),
    // The demo's provider is started with the gateway.
    ...(source.isDemo ? [] : await checkProviders(providers)),
  ];
}

function count(entries: object, noun: string): string {
  const { length } = Object.keys(entries);
  return `${length} ${noun}${length === 1 ? '' : 's'}`;
}
