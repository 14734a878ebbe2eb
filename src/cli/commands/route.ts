import type { Command } from 'commander';
import type { BegunDrain, EndedDrain, RoutesResponse } from '../../api/routes/admin.ts';
import type { DrainResponse, RouteResponse } from '../../api/routes/wire.ts';
import { CliError, type CommandKit, sayTo } from '../command.ts';
import { localTime } from '../local-time.ts';
import { shellWord } from '../shell-word.ts';
import { renderTable } from '../table.ts';

type DrainTarget = Pick<DrainResponse, 'provider' | 'model' | 'providerModel'>;

const TARGET = 'PROVIDER, PROVIDER/MODEL, or PROVIDER/MODEL/PROVIDER-MODEL for one route, as "route list" has them';

/** `faregate route …` */
export function routeCommands(program: Command, kit: CommandKit): void {
  const route = program.command('route').description('list routes to providers, drain them and resume them');

  route
    .command('list')
    .description('list the routes of all models: the state of their breakers, and what is drained, by whom and why')
    .action(
      kit.reading(async (admin, output) => {
        const view = await admin.request<RoutesResponse>('GET', '/routes');
        output.print(view, () => describeRoutes(view));
      }),
    );

  route
    .command('drain')
    .description(
      'send no new calls there, on all nodes and over restarts; calls in flight finish, and calls that continue a ' +
        'conversation which only this provider can read still go there',
    )
    .argument('<target>', TARGET)
    .option('--reason <text>', 'why; "route list" says it')
    .option('--by <name>', 'who drains it (default: $USER)')
    .action(
      kit.changing(async (admin, output, [reference], options) => {
        const { data } = await admin.request<RoutesResponse>('GET', '/routes');
        const target = resolveTarget(reference!, data.flatMap(targetsOf));
        const drained = await admin.request<BegunDrain>('POST', '/routes/drain', {
          ...target,
          reason: options.reason,
          by: options.by ?? (kit.process.environment.USER || undefined),
        });
        output.print(drained, () =>
          [
            `Drained ${referenceTo(drained)}: ${drained.routes.length === 1 ? 'one route takes' : `${drained.routes.length} routes take`} no new calls.`,
            `Resume: faregate route resume ${shellWord(referenceTo(drained))}`,
          ].join('\n'),
        );
        // Where scripts keep the output, people see it still.
        const say = sayTo(kit.process);
        for (const model of drained.modelsWithoutRoutes) {
          say(`Warning: this was the only route of ${model} that takes calls: its calls are refused with 503 now.`);
        }
      }),
    );

  route
    .command('resume')
    .description('take a drain back')
    .argument('<target>', TARGET)
    .action(
      kit.changing(async (admin, output, [reference]) => {
        const { drains, data } = await admin.request<RoutesResponse>('GET', '/routes');
        const known = drains.some((drain) => referenceTo(drain) === reference) ? drains : data.flatMap(targetsOf);
        const resumed = await admin.request<EndedDrain>('POST', '/routes/resume', resolveTarget(reference!, known));
        output.print(resumed, () => describeResumed(resumed));
      }),
    );
}

function describeRoutes({ data, drains }: RoutesResponse): string {
  const routes = renderTable(data, 'The configuration has no routes.', [
    { title: 'model', cell: (row) => row.model },
    { title: 'provider', cell: (row) => row.provider },
    { title: 'provider model', cell: (row) => row.providerModel },
    { title: 'priority', cell: (row) => String(row.priority), align: 'right' },
    { title: 'weight', cell: (row) => String(row.weight), align: 'right' },
    { title: 'state', cell: (row) => row.state },
    {
      title: 'last error',
      cell: (row) => (row.lastError === null ? '' : `${row.lastError} ${localTime(row.lastErrorAt ?? '')}`),
    },
    { title: 'drained', cell: (row) => (row.drained === null ? '' : referenceTo(row.drained)) },
  ]);
  if (drains.length === 0) return routes;
  const drained = renderTable(drains, '', [
    { title: 'drained', cell: referenceTo },
    { title: 'since', cell: (row) => localTime(row.since) },
    { title: 'by', cell: (row) => row.by },
    { title: 'routes', cell: (row) => (row.routes === 0 ? 'none configured' : String(row.routes)) },
    { title: 'reason', cell: (row) => row.reason ?? '' },
  ]);
  return `${routes}\n\n${drained}`;
}

function describeResumed(resumed: EndedDrain): string {
  const still = new Set(resumed.routes.flatMap(({ drained }) => (drained === null ? [] : [referenceTo(drained)])));
  const lines = [
    `Resumed ${referenceTo(resumed)}, which was drained since ${localTime(resumed.since)} by ${resumed.by}.`,
  ];
  if (still.size > 0) lines.push(`Some of its routes stay drained by: ${[...still].join(', ')}`);
  return lines.join('\n');
}

/** Everything that a route can be drained as. */
function targetsOf({ provider, model, providerModel }: RouteResponse): DrainTarget[] {
  return [
    { provider, model: null, providerModel: null },
    { provider, model, providerModel: null },
    { provider, model, providerModel },
  ];
}

function referenceTo({ provider, model, providerModel }: DrainTarget): string {
  return [provider, ...(model === null && providerModel === null ? [] : [model ?? '*']), providerModel]
    .filter((part) => part !== null)
    .join('/');
}

/** Names may have slashes, so a reference is compared as a whole. @throws CliError if it is none, or not one alone. */
function resolveTarget(reference: string, known: readonly DrainTarget[]): DrainTarget {
  const byKey = new Map(
    known
      .filter((target) => referenceTo(target) === reference)
      .map(({ provider, model, providerModel }) => [
        JSON.stringify([provider, model, providerModel]),
        { provider, model, providerModel },
      ]),
  );
  const [target] = byKey.values();
  if (target === undefined) {
    throw new CliError(`There is no provider or route "${reference}"; name ${TARGET}.`);
  }
  if (byKey.size > 1) {
    const meant = [...byKey.keys()].join(' or ');
    throw new CliError(`"${reference}" may be ${meant} (provider, model, provider's model); use the admin API for it.`);
  }
  return target;
}
