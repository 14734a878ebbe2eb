import type { Command } from 'commander';
import { ConfigError, loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { escapeText } from '../lib/plain-text.ts';
import type { CommandKit } from './command.ts';
import { checkDatabase } from './doctor-database.ts';
import { type Finding, failed, ok } from './doctor-finding.ts';
import { checkAddress, checkDataDirectory, checkOpenFiles, checkVersions } from './doctor-machine.ts';
import { checkProviders } from './doctor-providers.ts';
import { type ConfigSource, demoEnvironment, findConfigSource } from './environment.ts';

/** `faregate doctor` */
export function doctorCommand(program: Command, kit: CommandKit): void {
  program
    .command('doctor')
    .description(
      'look at everything that a gateway needs: versions, configuration, data directory, disk, database, clock, address, ' +
        'providers (without their credentials); exit code 1 where something fails',
    )
    .action(
      kit.plain(async (flags, output, environment) => {
        const source = findConfigSource(flags, environment);
        const findings = await examine(source, (file) =>
          loadConfig(file, demoEnvironment(environment), source.overrides),
        );
        output.print(findings, () => findings.map(describe).join('\n'));
        return findings.some(({ state }) => state === 'failed') ? 1 : 0;
      }),
    );
}

async function examine(source: ConfigSource, load: (file: string) => Config): Promise<readonly Finding[]> {
  const versions = checkVersions();
  let config: Config;
  try {
    config = load(source.file);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [first, ...others] = error.problems;
    const more = others.length === 0 ? '' : `, and ${others.length} more`;
    const detail = `${error.file}:${first!.line}: ${first!.key}: ${first!.message}${more}`;
    return [versions, failed('configuration', detail, 'See all of it: faregate check. The other checks need it.')];
  }
  const { server, database, providers, models, plans } = config;
  const files = checkOpenFiles(server);
  const counts = `${count(providers, 'provider')}, ${count(models, 'model')}, ${count(plans, 'plan')}`;
  return [
    versions,
    ok('configuration', `${source.isDemo ? 'the demo' : source.file}: ${counts}`),
    ...checkDataDirectory(database),
    ...(files === null ? [] : [files]),
    await checkAddress(server),
    ...(await checkDatabase(database)),
    // The demo's provider is started with the gateway.
    ...(source.isDemo ? [] : await checkProviders(providers)),
  ];
}

function count(entries: object, noun: string): string {
  const { length } = Object.keys(entries);
  return `${length} ${noun}${length === 1 ? '' : 's'}`;
}

const WORDS = { ok: 'ok     ', warning: 'WARNING', failed: 'FAILED ' };
const CHECK_WIDTH = 16;

function describe({ check, state, detail, advice }: Finding): string {
  const line = `${WORDS[state]}  ${escapeText(check).padEnd(CHECK_WIDTH)}  ${escapeText(detail)}`;
  return advice === undefined ? line : `${line}\n${' '.repeat(CHECK_WIDTH + 11)}${escapeText(advice)}`;
}
