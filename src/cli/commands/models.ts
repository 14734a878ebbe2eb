import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { ConfigError, type Environment, parseConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { CliError, type CommandKit, type GlobalFlags, UsageError } from '../command.ts';
import { type Decimal, parseDecimal, readDecimal, times, withPercent } from '../decimal.ts';
import { findConfigSource, loadForBooks } from '../environment.ts';
import { modelsYaml, type RouteTo } from '../models/model-yaml.ts';
import { type ModelDraft, type ModelList, matches, type NotPriced, readModels } from '../models/read-list.ts';
import { targetOf } from '../models/target.ts';
import { FORCE, writeForEditing } from '../written-file.ts';

const HELP = `
FILE is LiteLLM's price file, as its PyPI package has it (model_prices_and_context_window_backup.json), or the list of models that
a provider returns (GET /v1/models), such as OpenRouter's, which has prices.

Prices are converted exactly from the digits that stand there, to the nearest nano-yuan a million tokens. A model whose bill could be
more than its list says is left out, with the reason; nothing is guessed. Look through the file before it is served.

The address of a provider says whose prices apply, if it is that of a vendor of "faregate init --list". Before another one, such as a relay,
--vendor says it.`;

/** `faregate models …` */
export function modelCommands(program: Command, kit: CommandKit): void {
  program
    .command('models')
    .description('make models of the configuration from price files')
    .command('import')
    .description('write models with prices as YAML, to be looked through')
    .argument('<file>', "LiteLLM's price file, or a provider's list of models, as JSON")
    .requiredOption(
      '--provider <name>',
      'a provider of the configuration, or a vendor of "faregate init --list", such as openai or deepseek',
    )
    .option(
      '--vendor <name>',
      'whose prices, if the address of the provider does not tell: of that list, or as the price file has it',
    )
    .requiredOption('--usd-cny <rate>', 'what a dollar is in yuan, such as 7.15')
    .option('--margin <percent>', 'what you add to the prices; what you pay is then the cost of the route', '0')
    .option(
      '--only <pattern>',
      'only models whose names are so; * is any text, and several have commas between them',
      '*',
    )
    .option('--output <file>', 'where to; by default standard output')
    .option(...FORCE)
    .addHelpText('after', HELP)
    .action(
      kit.plain(async (flags, output, environment, [file], options) => {
        const named = options.vendor === undefined ? undefined : String(options.vendor);
        const { vendor, providers } = targetOf(String(options.provider), named, configInUse(flags, environment));
        const list = checked(
          readModels(file!, readJson(file!), {
            vendor,
            isWanted: wantedBy(String(options.only)),
            rates: ratesOf(options),
          }),
          providers,
        );
        const text = modelsYaml(list, providers, String(options.margin) !== '0');
        const summary = `${list.models.length} models with prices, ${list.notPriced.length} left out, which its end lists.`;
        if (options.output === undefined) {
          kit.process.writeOut(text);
          kit.process.writeError(`${summary}\n`);
          return 0;
        }
        const path = String(options.output);
        writeForEditing(path, text, options.force);
        output.print(
          { file: path, models: list.models.map(({ id }) => id), notPriced: list.notPriced },
          () => `Wrote ${path}: ${summary}`,
        );
        return 0;
      }),
    );
}

/** `null`: there is none but the demo's. */
function configInUse(flags: GlobalFlags, environment: Environment): Config | null {
  return findConfigSource(flags, environment).isDemo ? null : loadForBooks(flags, environment);
}

function readJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  try {
    return JSON.parse(text, asWritten);
  } catch {
    throw new CliError(`${file} is not JSON.`);
  }
}

/** A price keeps its digits, of which a number may have fewer. Whole numbers are exact as they are. */
function asWritten(this: unknown, _key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' && !Number.isSafeInteger(value) ? (context?.source ?? value) : value;
}

function ratesOf(options: Readonly<Record<string, unknown>>): { cost: Decimal; price: Decimal } {
  const cost = parseDecimal(String(options.usdCny));
  if (cost === null) throw new UsageError('--usd-cny: Expected a positive number such as 7.15.');
  const margin = readDecimal(String(options.margin));
  if (margin === null) throw new UsageError('--margin: Expected percent such as 20, or 0.');
  return { cost, price: times(cost, withPercent(margin)) };
}

function wantedBy(patterns: string): (id: string) => boolean {
  const given = patterns.split(',').map((pattern) => pattern.trim());
  return (id) => given.some((pattern) => matches(pattern, id));
}

/** What the configuration would refuse is left out, with its words. */
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
