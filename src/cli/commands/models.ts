import { readFileSync } from 'node:fs';
import type { PriceSourceReadResponse } from '../../api/catalog/price-source.ts';
import { ConfigError, parseConfig } from '../../config/load.ts';
import { UnknownVendorError } from '../../config/price-source/errors.ts';
import {
  type ModelDraft,
  type ModelList,
  matches,
  type NotPriced,
  readModels,
} from '../../config/price-source/model-list.ts';
import { type Rates, ratesOf } from '../../config/price-source/price-file.ts';
import { parsePriceJson } from '../../config/price-source/price-json.ts';
import type { Config } from '../../config/schema.ts';
import { parseDecimal, readDecimal } from '../../lib/decimal.ts';
import { catalogInUse } from '../catalog-in-use.ts';
import { CliError, type CliProcess, type GlobalFlags, UsageError } from '../command.ts';
import { type Given, group } from '../command-rows.ts';
import { findConfigSource, loadForBooks } from '../environment.ts';
import { modelsYaml, type RouteTo } from '../models/model-yaml.ts';
import { targetOf } from '../models/target.ts';
import { FORCE, writeForEditing } from '../written-file.ts';
import { describeExamples } from './catalog.ts';
import { describeChanges } from './catalog-responses.ts';
import { modelList } from './model-list.ts';

const HELP = `
FILE is LiteLLM's price file (model_prices_and_context_window_backup.json in its PyPI package), or the list of models that a
provider returns (GET /v1/models). The list of OpenRouter has prices.

Prices are converted exactly from their digits in the file, to the nearest nano-yuan per million tokens. A model that could cost more
than its listed prices is left out, with the reason; nothing is guessed. Review the file before you serve it.

The prices are those of the vendor to whom the address of the provider belongs, if "faregate init --list" has this vendor. For any
other address, such as a relay, name the vendor with --vendor.`;

export const modelCommands = group('models', 'list models and their prices; read prices from price files', {
  ...modelList,
  follow: {
    about: 'read the price source of the catalog now (`priceSource`); exit code 1 if it cannot be used',
    async changes(admin, output) {
      const read = await admin.request<PriceSourceReadResponse>('POST', '/catalog/price-source/read');
      output.print(read, describeRead);
      return read.outcome === 'failed' ? 1 : 0;
    },
  },
  'import <file>': {
    about: 'write models with prices as YAML, for review',
    with: {
      '<file>': "LiteLLM's price file, or a provider's list of models, as JSON",
      '--provider <name>': {
        text: 'a provider of the configuration, or a vendor of "faregate init --list", such as openai or deepseek',
        isRequired: true,
      },
      '--vendor <name>':
        'vendor whose prices apply: a name in "faregate init --list" or in the price file (default: the vendor at the address of the provider)',
      '--usd-cny <rate>': { text: 'yuan per dollar, such as 7.15', isRequired: true },
      '--margin <percent>': {
        text: 'percentage to add to the prices; the prices without it become the cost of the route',
        default: '0',
      },
      '--only <pattern>': {
        text: 'only models with matching names; * matches any text, commas separate several patterns',
        default: '*',
      },
      '--output <file>': 'the file to write (default: standard output)',
      ...FORCE,
    },
    help: HELP,
    async runs(flags, output, given, process) {
      const file = String(given.file);
      const named = given.vendor === undefined ? undefined : String(given.vendor);
      const config = await configInUse(flags, process);
      const { vendor, providers } = targetOf(String(given.provider), named, config);
      const wanted = { vendor, isWanted: wantedBy(String(given.only)), rates: readRates(given) };
      const list = checked(
        naming(() => readModels(file, readJson(file), wanted)),
        providers,
      );
      const text = modelsYaml(list, providers, String(given.margin) !== '0');
      const summary = `${list.models.length} models with prices, ${list.notPriced.length} left out (listed at the end of the output).`;
      if (given.output === undefined) {
        process.writeOut(text);
        process.writeError(`${summary}\n`);
        return;
      }
      const path = String(given.output);
      writeForEditing({ [path]: text }, given.force);
      output.print(
        { file: path, models: list.models.map(({ id }) => id), notPriced: list.notPriced },
        () => `Wrote ${path}: ${summary}`,
      );
    },
  },
});

function describeRead({ outcome, message, revision, changes, examples, notFollowed }: PriceSourceReadResponse): string {
  const state = {
    unchanged:
      revision === null
        ? 'The prices are those of the source.'
        : `The prices of the source are those of draft ${revision}, which was discarded.`,
    draft: `The prices of the source are draft ${revision}. Put it in force with "faregate catalog apply ${revision}".`,
    applied: `The prices of the source are revision ${revision}, which comes into force now.`,
    changed: 'The source has other prices. The catalog is in the configuration file: change it there.',
    failed: `The source cannot be used, and the prices stay: ${message}`,
  }[outcome];
  const left = notFollowed.map(({ model, why }) => `Not followed: ${model}: ${why}`);
  const differences = changes === null || changes.length > 0 ? [describeChanges(changes)] : [];
  return [state, ...differences, ...describeExamples(examples), ...left].join('\n');
}

/** Returns the configuration; `null` if only that of the demo is found. */
async function configInUse(flags: GlobalFlags, process: CliProcess): Promise<Config | null> {
  const { environment } = process;
  if (findConfigSource(flags, environment).isDemo) return null;
  const config = loadForBooks(flags, environment);
  const catalog = await catalogInUse(flags, process, config);
  return catalog === null ? config : loadForBooks(flags, environment, catalog);
}

function readJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  try {
    return parsePriceJson(text);
  } catch {
    throw new CliError(`${file} is not JSON.`);
  }
}

/** Adds to the error of an unknown vendor how the command learns it. */
function naming<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UnknownVendorError)) throw error;
    throw new CliError(
      `${error.message} Name the vendor with --vendor: one of "faregate init --list", or a "litellm_provider" of the price file.`,
      { cause: error },
    );
  }
}

function readRates(options: Given): Rates {
  const cost = parseDecimal(String(options.usdCny));
  if (cost === null) throw new UsageError('--usd-cny: Expected a positive number such as 7.15.');
  const margin = readDecimal(String(options.margin));
  if (margin === null) throw new UsageError('--margin: Expected a percentage such as 20, or 0.');
  return ratesOf(cost, margin);
}

function wantedBy(patterns: string): (id: string) => boolean {
  const given = patterns.split(',').map((pattern) => pattern.trim());
  return (id) => given.some((pattern) => matches(pattern, id));
}

/** Moves models that would make the configuration invalid to `notPriced`, with the error message as the reason. */
function checked({ models, notPriced }: ModelList, providers: readonly RouteTo[]): ModelList {
  const refused: NotPriced[] = [];
  const accepted = models.filter((model) => {
    const why = refusalOf(model, providers);
    if (why !== null) refused.push({ id: model.id, why });
    return why === null;
  });
  return { models: accepted, notPriced: [...notPriced, ...refused] };
}

function refusalOf(model: ModelDraft, providers: readonly RouteTo[]): string | null {
  const settings = providers.map(
    ({ name, protocol }) => `  ${name}: { protocol: ${protocol}, baseUrl: "http://127.0.0.1:1", apiKey: none }\n`,
  );
  try {
    parseConfig(
      `providers:\n${settings.join('')}${modelsYaml({ models: [model], notPriced: [] }, providers, true)}`,
      'models.yaml',
      {},
    );
    return null;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [...new Set(error.problems.map(({ message }) => message))].join(' ');
  }
}
