import { type Preset, presetConfig, presets } from '../../config/presets.ts';
import { configTemplate } from '../../config/template.ts';
import { priceWarnings, secretWarnings } from '../../config/warnings.ts';
import type { CommandRows } from '../command-rows.ts';
import { DEFAULT_FILE, findConfigSource, loadForCommand, readAdminToken } from '../environment.ts';
import { presetOf } from '../preset-reference.ts';
import { type Column, columnsOf, renderFields, renderTable } from '../table.ts';
import { FORCE, writeForEditing } from '../written-file.ts';

const PRESET_COLUMNS: readonly Column<Preset>[] = [
  ...columnsOf<Preset>('name', 'vendor: title'),
  { title: 'speaks', cell: ({ providers }) => providers.map(({ protocol }) => protocol).join(', ') },
  { title: 'address', cell: ({ providers }) => providers.map(({ baseUrl }) => baseUrl).join(' ') },
  ...columnsOf<Preset>('key: keyVariable'),
];

export const configCommands: CommandRows = {
  'init [file]': {
    about: 'write a commented configuration to start from, or a short one for a known vendor',
    with: {
      '[file]': { text: 'the file to write', default: DEFAULT_FILE },
      '--provider <name>':
        'a vendor that --list shows: the file then has the addresses of the vendor and the header for its key',
      '--list': 'only list the known vendors',
      ...FORCE,
    },
    async runs(_flags, output, given) {
      if (given.list === true) {
        output.print(presets, () => renderTable(presets, '', PRESET_COLUMNS));
        return;
      }
      const file = String(given.file);
      const preset = given.provider === undefined ? null : presetOf(String(given.provider));
      writeForEditing(file, preset === null ? configTemplate : presetConfig(preset), given.force);
      const next =
        preset === null
          ? 'Set the keys that it names'
          : `Set ${preset.keyVariable}, add models to it (faregate models import --help)`;
      output.print(
        { file, ...(preset !== null && { keyVariable: preset.keyVariable }) },
        () => `Wrote ${file}. ${next}, then: faregate check --config ${file}`,
      );
    },
  },
  check: {
    about:
      'validate the configuration and the admin token; exit code 1 and every problem with file, line and key if one is wrong, ' +
      'warnings if something that providers bill has no price, or a secret is a placeholder',
    async runs(flags, output, _given, { environment }) {
      const { file } = findConfigSource(flags, environment);
      const config = loadForCommand(flags, environment);
      readAdminToken(environment);
      const summary = {
        file,
        catalog: config.catalog,
        providers: Object.keys(config.providers),
        models: Object.keys(config.models),
        plans: Object.keys(config.plans),
        warnings: [...priceWarnings(config), ...secretWarnings(config)],
        database: config.database.url === '' ? `local, in ${config.database.dataDir}` : 'PostgreSQL',
      };
      output.print(summary, () =>
        renderFields([
          ['configuration', `${file} is valid`],
          ...(config.catalog === 'database'
            ? [['catalog', 'in the database ("faregate catalog show" prints it)'] as const]
            : ([
                ['providers', summary.providers.join(', ') || 'none'],
                ['models', summary.models.join(', ') || 'none'],
                ['plans', summary.plans.join(', ') || 'none'],
              ] as const)),
          ['database', summary.database],
          ...summary.warnings.map(({ key, message }): [string, string] => ['warning', `${key}: ${message}`]),
        ]),
      );
    },
  },
};
