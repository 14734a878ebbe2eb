import { basename, extname } from 'node:path';
import { presetConfig, presetFiles } from '../../config/preset-files.ts';
import { type Preset, presets } from '../../config/presets.ts';
import { findInitialCatalog, initialCatalogFile, refuseSecrets } from '../../config/revisions/initial-catalog.ts';
import { configTemplate, templates } from '../../config/template.ts';
import { priceWarnings, secretWarnings } from '../../config/warnings.ts';
import { UsageError } from '../command.ts';
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

/** Argument for standard output. */
const STANDARD_OUTPUT = '-';

export const configCommands: CommandRows = {
  'init [file]': {
    about: 'write a commented configuration to start from, or a short one for a known vendor',
    with: {
      '[file]': { text: 'the file to write; "-" is standard output', default: DEFAULT_FILE },
      '--provider <name>':
        'a vendor that --list shows: the file then has the addresses of the vendor and the header for its key',
      '--catalog <place>': {
        text: 'where providers, models, prices and plans are: "database", with a second file for the first start, or "file" (default: database, on standard output file)',
        choices: ['database', 'file'],
      },
      '--list': 'only list the known vendors',
      ...FORCE,
    },
    async runs(_flags, output, given) {
      if (given.list === true) {
        output.print(presets, () => renderTable(presets, '', PRESET_COLUMNS));
        return;
      }
      const file = String(given.file);
      const { provider, force } = given;
      const isPrinted = file === STANDARD_OUTPUT;
      const place = given.catalog ?? (isPrinted ? 'file' : 'database');
      const preset = provider === undefined ? null : presetOf(String(provider));
      if (isPrinted) {
        if (place !== 'file') throw new UsageError('--catalog database: This has two files. Name the first one.');
        const text = preset === null ? configTemplate : presetConfig(preset);
        output.print({ text }, () => text.trimEnd());
        return;
      }
      const catalogFile =
        place === 'file' ? null : initialCatalogFile(file, `${basename(file, extname(file))}.catalog.yaml`);
      if (catalogFile === null) {
        writeForEditing({ [file]: preset === null ? configTemplate : presetConfig(preset) }, force);
      } else {
        const name = basename(catalogFile);
        const { node, catalog } = preset === null ? templates(name) : presetFiles(preset, name);
        writeForEditing({ [file]: node, [catalogFile]: catalog }, force);
      }
      const edited = catalogFile ?? file;
      const next =
        preset === null
          ? `Set the keys that ${edited} names`
          : `Set ${preset.keyVariable}, add models to ${edited} (faregate models import --help)`;
      output.print(
        { file, catalog: catalogFile, ...(preset !== null && { keyVariable: preset.keyVariable }) },
        () =>
          `Wrote ${catalogFile === null ? file : `${file} and ${catalogFile}`}. ${next}, then: faregate check --config ${file}`,
      );
    },
  },
  check: {
    about:
      'validate the configuration and the admin token; exit code 1 and every problem with file, line and key if one is wrong, ' +
      'warnings if something that providers bill has no price, or a secret is a placeholder',
    async runs(flags, output, _given, { environment }) {
      const { file } = findConfigSource(flags, environment);
      const ofFile = loadForCommand(flags, environment);
      const initial = findInitialCatalog(ofFile, file);
      const config = initial === null ? ofFile : loadForCommand(flags, environment, { catalog: initial });
      if (initial !== null) refuseSecrets(file, initial);
      readAdminToken(environment);
      const summary = {
        file,
        catalog: config.catalog,
        initialCatalog: initial?.name ?? null,
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
            : []),
          initial !== null && (['at the first start', `${initial.name} is valid`] as const),
          ...(config.catalog === 'database' && initial === null
            ? []
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
