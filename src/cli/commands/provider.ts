import type { AdminClient } from '../../api/management/admin-client.ts';
import { AdminClientError } from '../../api/management/admin-client-error.ts';
import type { ProviderTestResponse } from '../../api/providers/admin.ts';
import { secretsUsedBy } from '../../config/provider-credentials.ts';
import type { Config } from '../../config/schema.ts';
import { didYouMean } from '../../config/suggest.ts';
import { catalogInUse } from '../catalog-in-use.ts';
import { CliError, type CliProcess, type GlobalFlags, NotFoundError } from '../command.ts';
import type { CommandRows } from '../command-rows.ts';
import { loadForCommand } from '../environment.ts';
import { findServingGateway } from '../own-database.ts';
import { columnsOf, renderFields, renderTable } from '../table.ts';
import { askGateway, namedGateway } from '../with-admin.ts';
import { catalogInForce } from './catalog-in-force.ts';
import { providerList } from './provider-list.ts';

type TestResult = ProviderTestResponse['results'][number];

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
        choices: ['chat', 'messages', 'responses', 'embeddings', 'rerank', 'images.generate'],
      },
    },
    async runs(flags, output, { provider, model, operation }, process) {
      const test = await runTest(flags, process, String(provider), { model, operation } as Asked);
      output.print(test, describe);
      return test.results.every(({ status }) => status === 'succeeded') ? 0 : 1;
    },
  },
};

export const providerCommands: CommandRows = { provider: { about: 'list and test providers', rows } };

/** Tests a provider from the gateway that runs, with the connections and credentials of calls; if none runs, from this process. */
async function runTest(
  flags: GlobalFlags,
  process: CliProcess,
  name: string,
  asked: Asked,
): Promise<ProviderTestResponse> {
  const { environment } = process;
  if (flags.gateway !== undefined) return testBy(namedGateway(flags.gateway, environment), name, asked);
  const ofNode = loadForCommand(flags, environment);
  const { url, dataDir } = ofNode.database;
  const serving = url === '' ? findServingGateway(dataDir) : null;
  if (serving !== null) return testBy(askGateway(serving), name, asked);
  const catalog = await catalogInUse(flags, process, ofNode);
  const config = catalog === null ? ofNode : loadForCommand(flags, environment, { catalog });
  if (usesSecret(config, name))
    throw new CliError(
      'A credential of this provider is a sealed secret. Only a gateway opens it: start it, or name one with --gateway.',
    );
  return testHere(config, name, asked);
}

async function testBy(admin: AdminClient, name: string, asked: Asked): Promise<ProviderTestResponse> {
  try {
    return await admin.request('POST', `/providers/${encodeURIComponent(name)}/test`, asked);
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

async function testHere(config: Config, name: string, { model, operation }: Asked): Promise<ProviderTestResponse> {
  const { createProviderTester } = await import('../../calls/provider-tester.ts');
  const { providerTestToWire } = await import('../../api/providers/admin.ts');
  const tester = createProviderTester(config);
  try {
    const test = await tester.test(name, { model: model ?? null, operation: operation ?? null });
    if (test === null) throw unknownProvider(name, Object.keys(config.providers));
    return providerTestToWire(name, test);
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

function usageText(usage: Readonly<Record<string, number>> | null): string {
  if (usage === null) return '';
  const counted = Object.entries(usage).filter(([, count]) => count > 0);
  return counted.map(([unit, count]) => `${unit} ${count}`).join(', ') || 'none';
}
