import type { AdminClient } from '../../api/management/admin-client.ts';
import { AdminClientError } from '../../api/management/admin-client-error.ts';
import type { DialectSearchResponse, ProviderTestResponse } from '../../api/providers/admin.ts';
import { secretsUsedBy } from '../../config/provider-credentials.ts';
import type { Config } from '../../config/schema.ts';
import { didYouMean } from '../../config/suggest.ts';
import { catalogInUse } from '../catalog-in-use.ts';
import { CliError, type CliProcess, type GlobalFlags, NotFoundError, UsageError } from '../command.ts';
import type { CommandRows } from '../command-rows.ts';
import { loadForCommand } from '../environment.ts';
import { findServingGateway } from '../own-database.ts';
import { columnsOf, renderFields, renderTable } from '../table.ts';
import { askGateway, namedGateway } from '../with-admin.ts';
import { catalogInForce } from './catalog-in-force.ts';
import { providerList } from './provider-list.ts';

type TestResult = ProviderTestResponse['results'][number];
type SearchTrial = DialectSearchResponse['trials'][number];

type Asked = { readonly model?: string; readonly operation?: string };

const rows: CommandRows = {
  ...providerList,
  'test <provider> [model]': {
    about:
      'send a provider a minimal call with each of its credentials: print its response, the usage that was read, and what a call ' +
      'would be charged. The vendor may bill it; no account here pays. Exit code 1 if a credential does not work',
    with: {
      '<provider>': 'name of the provider in the configuration',
      '[model]':
        'a model of the catalog, or the name of a model at the provider (default: the first model routed to the provider)',
      '--operation <name>': {
        text: 'what to call (default: an operation of the model)',
        choices: ['chat', 'messages', 'responses', 'completions', 'embeddings', 'rerank', 'images.generate'],
      },
      '--translated':
        'find the dialect in which the provider takes translated requests: with about a dozen small calls, some with reasoning and a ' +
        'tool. Exit code 1 if there is none',
    },
    async runs(flags, output, { provider, model, operation, translated }, process) {
      if (translated === true) {
        if (operation !== undefined) throw new UsageError('--operation and --translated exclude each other.');
        const search = await runSearch(flags, process, String(provider), { model } as Asked);
        output.print(search, describeSearch);
        return search.dialect === null ? 1 : 0;
      }
      const test = await runTest(flags, process, String(provider), { model, operation } as Asked);
      output.print(test, describe);
      return test.results.every(({ status }) => status === 'succeeded') ? 0 : 1;
    },
  },
};

export const providerCommands: CommandRows = { provider: { about: 'list and test providers', rows } };

/** Tests a provider from the gateway that runs, with the connections and credentials of calls; if none runs, from this process. */
function runTest(flags: GlobalFlags, process: CliProcess, name: string, asked: Asked): Promise<ProviderTestResponse> {
  return runFrom(flags, process, name, {
    by: (admin) => admin.request('POST', `/providers/${encodeURIComponent(name)}/test`, asked),
    async here(tester, { providerTestToWire }) {
      const test = await tester.test(name, { model: asked.model ?? null, operation: asked.operation ?? null });
      return test && providerTestToWire(name, test);
    },
  });
}

function runSearch(
  flags: GlobalFlags,
  process: CliProcess,
  name: string,
  { model }: Asked,
): Promise<DialectSearchResponse> {
  return runFrom(flags, process, name, {
    by: (admin) => admin.request('POST', `/providers/${encodeURIComponent(name)}/dialect`, { model }),
    async here(tester, { dialectSearchToWire }) {
      const search = await tester.searchDialect(name, model ?? null);
      return search && dialectSearchToWire(name, search);
    },
  });
}

type Tester = ReturnType<typeof import('../../calls/provider-tester.ts').createProviderTester>;

interface Run<Response> {
  /** @throws AdminClientError with the status 404 if there is no such provider */
  by(admin: AdminClient): Promise<Response>;
  /** `null` if there is no such provider. */
  here(tester: Tester, wire: typeof import('../../api/providers/admin.ts')): Promise<Response | null>;
}

async function runFrom<Response>(
  flags: GlobalFlags,
  process: CliProcess,
  name: string,
  run: Run<Response>,
): Promise<Response> {
  const { environment } = process;
  if (flags.gateway !== undefined) return runBy(namedGateway(flags.gateway, environment), name, run);
  const ofNode = loadForCommand(flags, environment);
  const { url, dataDir } = ofNode.database;
  const serving = url === '' ? findServingGateway(dataDir) : null;
  if (serving !== null) return runBy(askGateway(serving), name, run);
  const catalog = await catalogInUse(flags, process, ofNode);
  const config = catalog === null ? ofNode : loadForCommand(flags, environment, { catalog });
  if (usesSecret(config, name))
    throw new CliError(
      'A credential of this provider is a sealed secret. Only a gateway opens it: start it, or name one with --gateway.',
    );
  return runHere(config, name, run);
}

async function runBy<Response>(admin: AdminClient, name: string, run: Run<Response>): Promise<Response> {
  try {
    return await run.by(admin);
  } catch (error) {
    if (!(error instanceof AdminClientError && error.status === 404)) throw error;
    throw unknownProvider(name, Object.keys((await catalogInForce(admin)).providers));
  }
}

function unknownProvider(name: string, known: readonly string[]): NotFoundError {
  return new NotFoundError(
    `There is no provider "${name}".${didYouMean(name, known)} Known: ${known.join(', ') || 'none'}.`,
  );
}

function usesSecret({ providers }: Config, name: string): boolean {
  return [...secretsUsedBy(providers).values()].some((ids) => ids.includes(name));
}

async function runHere<Response>(config: Config, name: string, run: Run<Response>): Promise<Response> {
  const { createProviderTester } = await import('../../calls/provider-tester.ts');
  const wire = await import('../../api/providers/admin.ts');
  const tester = createProviderTester(config);
  try {
    const response = await run.here(tester, wire);
    if (response === null) throw unknownProvider(name, Object.keys(config.providers));
    return response;
  } finally {
    await tester.close();
  }
}

function describe({ provider, operation, model, providerModel, results }: ProviderTestResponse): string {
  const head = renderFields([
    ['provider', provider],
    ['operation', operation],
    [
      'model',
      model === null ? `${providerModel} (not in the catalog, so without a price)` : `${model} as ${providerModel}`,
    ],
  ]);
  const table = renderTable(results, 'The provider has no credentials.', [
    ...columnsOf<TestResult>('credential', 'result: status', 'http: httpStatus', 'first byte ms: firstByteMs'),
    ...columnsOf<TestResult>('ms: durationMs'),
    { title: 'usage', cell: (row) => usageText(row.usage) },
    ...columnsOf<TestResult>('would charge ¥: chargeYuan', 'error: message'),
  ]);
  return `${head}\n\n${table}`;
}

function describeSearch({ provider, protocol, model, providerModel, trials, yaml }: DialectSearchResponse): string {
  const head = renderFields([
    ['provider', provider],
    ['protocol', protocol],
    ['model', model === null ? `${providerModel} (not in the catalog)` : `${model} as ${providerModel}`],
  ]);
  const table = renderTable(trials, 'Nothing was tried.', [
    ...columnsOf<SearchTrial>('tried', 'result: status', 'http: httpStatus', 'ms: durationMs', 'error: message'),
  ]);
  const found =
    yaml === null
      ? 'No dialect was found: the last error says why.'
      : yaml === ''
        ? 'The defaults suffice: the provider needs no dialect.'
        : `For the provider, or a route:\n\n${yaml}`;
  return `${head}\n\n${table}\n\n${found}`;
}

function usageText(usage: Readonly<Record<string, number>> | null): string {
  if (usage === null) return '';
  const counted = Object.entries(usage).filter(([, count]) => count > 0);
  return counted.map(([unit, count]) => `${unit} ${count}`).join(', ') || 'none';
}
