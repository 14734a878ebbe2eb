import { existsSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import { priceWarnings } from '../../config/price-warnings.ts';
import { configTemplate } from '../../config/template.ts';
import { CliError, type CommandKit } from '../command.ts';
import { demoEnvironment, findConfigSource } from '../environment.ts';
import { renderFields } from '../table.ts';

/** `faregate init` and `faregate check` */
export function configCommands(program: Command, kit: CommandKit): void {
  program
    .command('init')
    .description('write a commented configuration to start from')
    .argument('[file]', 'where to', 'faregate.yaml')
    .action(
      kit.plain(async (_flags, output, _environment, [file]) => {
        const path = file!;
        if (existsSync(path)) throw new CliError(`${path} exists already; name another file: faregate init other.yaml`);
        writeFileSync(path, configTemplate, { flag: 'wx' });
        output.print(
          { file: path },
          () => `Wrote ${path}. Set the keys that it names, then: faregate check --config ${path}`,
        );
      }),
    );

  program
    .command('check')
    .description(
      'validate the configuration; exit code 1 and every problem with file, line and key if it is wrong, warnings if ' +
        'something that providers bill has no price',
    )
    .action(
      kit.plain(async (flags, output, environment) => {
        const source = findConfigSource(flags, environment);
        const config = loadConfig(source.file, demoEnvironment(environment), source.overrides);
        const summary = {
          file: source.file,
          providers: Object.keys(config.providers),
          models: Object.keys(config.models),
          plans: Object.keys(config.plans),
          warnings: priceWarnings(config),
          database: config.database.url === '' ? `embedded, in ${config.database.dataDir}` : 'PostgreSQL',
        };
        output.print(summary, () =>
          renderFields([
            ['configuration', `${summary.file} is valid`],
            ['providers', summary.providers.join(', ') || 'none'],
            ['models', summary.models.join(', ') || 'none'],
            ['plans', summary.plans.join(', ') || 'none'],
            ['database', summary.database],
            ...summary.warnings.map(({ key, message }): [string, string] => ['warning', `${key}: ${message}`]),
          ]),
        );
      }),
    );
}
