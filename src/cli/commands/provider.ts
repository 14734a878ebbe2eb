import type { Command } from 'commander';
import type { ProviderTestResponse } from '../../api/providers/admin.ts';
import type { Config } from '../../config/schema.ts';
import { CliError, type GlobalFlags } from '../command.ts';
import { loadForCommand } from '../environment.ts';
import { addCommand, type CommandKit } from '../kit.ts';
import { findServingGateway } from '../own-database.ts';
import { renderFields, renderTable } from '../table.ts';
import { askGateway, namedGateway } from '../with-admin.ts';

interface Asked {
  readonly model?: string;
  readonly operation?: string;
}

export function providerCommands(program: Command, kit: CommandKit): void {
  const provider = program.command('provider').description('test providers');
  addCommand(
    provider,
    'test <provider> [model]',
    'send a provider a minimal call with each of its credentials: print its response, the usage that was read, and what a call ' +
      'would be charged. The vendor may bill it; no account here pays. Exit code 1 if a credential does not work',
    {
      provider: 'name of the provider in the configuration',
      model:
        'a model of the catalog, or the name of a model at the provider (default: the first model routed to the provider)',
    },
  )
    .option(
      '--operation <name>',
      'chat, messages, responses, embeddings, rerank or images.generate (default: an operation of the model)',
    )
    .action(
      kit.plain(async (flags, output, { provider: name, model, operation }) => {
        const test = await runTest(flags, kit, String(name), { model, operation } as Asked);
        output.print(test, () => describe(test));
        return test.results.every(({ status }) => status === 'succeeded') ? 0 : 1;
      }),
    );
}

/**
 * Sends the test from the running gateway, which has the connections and credentials that calls use. If no gateway runs, sends it from this
 * process.
 */
async function runTest(
  flags: GlobalFlags,
  { process: { environment } }: CommandKit,
  name: string,
  asked: Asked,
): Promise<ProviderTestResponse> {
  const path = `/providers/${encodeURIComponent(name)}/test`;
  if (flags.gateway !== undefined) return namedGateway(flags.gateway, environment).request('POST', path, asked);
  const config = loadForCommand(flags, environment);
  const serving = config.database.url === '' ? findServingGateway(config.database.dataDir) : null;
  return serving === null ? testHere(config, name, asked) : askGateway(serving).request('POST', path, asked);
}

async function testHere(config: Config, name: string, { model, operation }: Asked): Promise<ProviderTestResponse> {
  const { createProviderTester } = await import('../../calls/provider-tester.ts');
  const { providerTestToWire } = await import('../../api/providers/admin.ts');
  const tester = createProviderTester(config);
  try {
    const test = await tester.test(name, { model: model ?? null, operation: operation ?? null });
    if (test === null) {
      throw new CliError(
        `There is no provider "${name}". Known: ${Object.keys(config.providers).join(', ') || 'none'}.`,
      );
    }
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
    { title: 'credential', cell: (row) => row.credential },
    { title: 'result', cell: (row) => row.status },
    { title: 'http', cell: (row) => String(row.httpStatus ?? '') },
    { title: 'first byte ms', cell: (row) => String(row.firstByteMs ?? '') },
    { title: 'ms', cell: (row) => String(row.durationMs) },
    { title: 'usage', cell: (row) => usageText(row.usage) },
    { title: 'would charge ¥', cell: (row) => row.chargeYuan ?? '' },
    { title: 'error', cell: (row) => row.message ?? '' },
  ]);
  return `${head}\n\n${table}`;
}

function usageText(usage: Readonly<Record<string, number>> | null): string {
  if (usage === null) return '';
  const counted = Object.entries(usage).filter(([, count]) => count > 0);
  return counted.map(([unit, count]) => `${unit} ${count}`).join(', ') || 'none';
}
