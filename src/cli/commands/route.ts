import type { BegunDrain, EndedDrain, RoutesResponse } from '../../api/routes/admin.ts';
import type { DrainResponse, LimitResponse, RouteResponse } from '../../api/routes/wire.ts';
import { didYouMean } from '../../config/suggest.ts';
import { CliError, NotFoundError, sayTo } from '../command.ts';
import { group } from '../command-rows.ts';
import { localTime } from '../local-time.ts';
import { shellWord } from '../shell-word.ts';
import { columnsOf, renderTable } from '../table.ts';

type DrainTarget = Pick<DrainResponse, 'provider' | 'model' | 'providerModel'>;

const TARGET =
  'PROVIDER, PROVIDER/MODEL, or PROVIDER/MODEL/PROVIDER-MODEL for one route, with the names that "route list" shows';

export const routeCommands = group('route', 'list routes to providers, drain them and resume them', {
  list: {
    about:
      'list the routes of all models: the state of their breakers; what is drained, by whom and why; and what is used of the limits of ' +
      'providers, routes and credentials',
    sends: 'GET /routes',
    text: describeRoutes,
  },
  'drain <target>': {
    about:
      'send no new calls to a provider or route, on all nodes and across restarts; calls in flight finish, and calls that ' +
      'continue a conversation which only this provider can read are still sent to it',
    with: {
      '<target>': TARGET,
      '--reason <text>': 'reason, shown by `route list`',
      '--by <name>': 'who drains it (default: $USER)',
    },
    async changes(admin, output, { target, reason, by }, process) {
      const { data } = await admin.request<RoutesResponse>('GET', '/routes');
      const drained = await admin.request<BegunDrain>('POST', '/routes/drain', {
        ...resolveTarget(String(target), data.flatMap(targetsOf)),
        reason,
        by: by ?? (process.environment.USER || undefined),
      });
      const name = referenceTo(drained);
      const count = drained.routes.length;
      output.print(
        drained,
        () =>
          `Drained ${name}. Routes without new calls: ${count}.\nTo resume: faregate route resume ${shellWord(name)}`,
      );
      // Warnings are written to standard error, so that people see them even if a script captures the output.
      const say = sayTo(process);
      for (const model of drained.modelsWithoutRoutes) {
        say(`Warning: this was the only available route of ${model}: its calls are now refused with 503.`);
      }
    },
  },
  'resume <target>': {
    about: 'end the drain of a provider or route',
    with: { '<target>': TARGET },
    async changes(admin, output, given) {
      const target = String(given.target);
      const { drains, data } = await admin.request<RoutesResponse>('GET', '/routes');
      const known = drains.some((drain) => referenceTo(drain) === target) ? drains : data.flatMap(targetsOf);
      output.print(
        await admin.request<EndedDrain>('POST', '/routes/resume', resolveTarget(target, known)),
        describeResumed,
      );
    },
  },
});

function describeRoutes({ data, drains, limits }: RoutesResponse): string {
  const routes = renderTable(data, 'The configuration has no routes.', [
    ...columnsOf<RouteResponse>('model', 'provider', 'providerModel', 'priority', 'weight', 'state'),
    { title: 'translates', cell: ({ translates }) => translates.join(', ') },
    {
      title: 'last error',
      cell: (row) => (row.lastError === null ? '' : `${row.lastError} ${localTime(row.lastErrorAt ?? '')}`),
    },
    { title: 'drained', cell: (row) => (row.drained === null ? '' : referenceTo(row.drained)) },
  ]);
  const limited = renderTable(limits.flatMap(limitLines), '', [
    ...columnsOf<LimitLine>('limit of: of', 'limit', 'used', 'max'),
    { title: 'until', cell: ({ until }) => (until === null ? '' : localTime(until)) },
  ]);
  const drained = renderTable(drains, '', [
    { title: 'drained', cell: referenceTo },
    ...columnsOf<DrainResponse>('since', 'by'),
    { title: 'routes', cell: (row) => (row.routes === 0 ? 'none configured' : String(row.routes)) },
    ...columnsOf<DrainResponse>('reason'),
  ]);
  return [routes, limited, drained].filter((table) => table !== '').join('\n\n');
}

interface LimitLine {
  readonly of: string;
  readonly limit: string;
  readonly used: string;
  readonly max: string;
  /** When a rate allows a call again, or when a budget begins again; `null`: now, or unknown. */
  readonly until: string | null;
}

const RATES = {
  requestsPerMinute: 'requests per minute',
  tokensPerMinute: 'tokens per minute',
  concurrentCalls: 'calls in flight',
} as const;
const BUDGETS = { day: 'yuan of the day', month: 'yuan of the month' } as const;

function limitLines({ rates, budgets, ...subject }: LimitResponse): LimitLine[] {
  const of = limitedName(subject);
  return [
    ...rates.map(({ kind, used, max, freeAt }) => ({
      ...{ of, limit: RATES[kind], used: String(used), max: String(max), until: freeAt },
    })),
    ...budgets.map(({ kind, usedYuan, maxYuan, endsAt }) => ({
      ...{ of, limit: BUDGETS[kind], used: usedYuan, max: maxYuan, until: endsAt },
    })),
  ];
}

/** Names what a limit is of: `acme`, `acme/model/provider-model`, or `acme apiKeys.0`. */
function limitedName({ of, credential, ...target }: Omit<LimitResponse, 'rates' | 'budgets'>): string {
  return of === 'credential' ? `${target.provider} ${credential}` : referenceTo(target);
}

function describeResumed(resumed: EndedDrain): string {
  const still = new Set(resumed.routes.flatMap(({ drained }) => (drained === null ? [] : [referenceTo(drained)])));
  const lines = [
    `Resumed ${referenceTo(resumed)}, which was drained since ${localTime(resumed.since)} by ${resumed.by}.`,
  ];
  if (still.size > 0) lines.push(`Some of its routes are still drained by: ${[...still].join(', ')}`);
  return lines.join('\n');
}

/** Returns the targets whose drain includes a route: its provider, its model at that provider, and the route itself. */
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

/**
 * Finds the target that a reference names. Names can contain slashes, so the whole reference is compared with each known target.
 *
 * @throws NotFoundError if no target matches, CliError if more than one does
 */
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
    const similar = didYouMean(reference, [...new Set(known.map(referenceTo))]);
    throw new NotFoundError(`There is no provider or route "${reference}".${similar} Give ${TARGET}.`);
  }
  if (byKey.size > 1) {
    const meant = [...byKey.keys()].join(' or ');
    throw new CliError(
      `"${reference}" can mean ${meant} (provider, model, model name at the provider). Use the admin API to choose.`,
    );
  }
  return target;
}
