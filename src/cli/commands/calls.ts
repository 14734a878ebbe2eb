import type { FoundRequest } from '../../api/calls/admin.ts';
import type { CallResponse, InFlightResponse } from '../../api/calls/wire.ts';
import type { AdminClient } from '../../api/management/admin-client.ts';
import type { Page } from '../../api/management/response-fields.ts';
import type { RefusalResponse } from '../../api/refusals/admin.ts';
import { inputTokensOf, noUsage, outputTokensOf } from '../../protocols/metering/usage-facts.ts';
import { UsageError } from '../command.ts';
import { type CommandRows, limitOf } from '../command-rows.ts';
import { localTime } from '../local-time.ts';
import type { Output } from '../output.ts';
import { listUpTo, queryOf } from '../pages.ts';
import { type Column, columnsOf, renderTable } from '../table.ts';
import { callCorrections } from './call-corrections.ts';
import { renderAttempts, renderCall, whatToDo } from './call-text.ts';

const REFUSAL_COLUMNS: readonly Column<RefusalResponse>[] = [
  ...columnsOf<RefusalResponse>('when: at'),
  { title: 'request', cell: (row) => (row.path === null && row.message === null ? '' : row.id) },
  ...columnsOf<RefusalResponse>('count'),
  { title: 'account', cell: (row) => row.accountName ?? row.accountId ?? '' },
  { title: 'key', cell: (row) => row.keyName ?? row.keyId ?? '' },
  ...columnsOf<RefusalResponse>('from: clientAddress', 'path', 'model', 'status', 'code', 'message'),
];

const FILTERS = ['accountId', 'model', 'status', 'endUser', 'tag', 'program', 'clientAddress'];

export const callCommands: CommandRows = {
  calls: {
    about: 'list the newest calls with their usage and charge; show, settle or refund a call',
    with: {
      '--account <account>': 'only calls of this account (id or name)',
      '--model <model>': 'only calls of this model',
      '--end-user <name>': 'only calls of this end user',
      '--tag <tag>': 'only calls with this tag',
      '--program <program>': 'only calls of this program, such as "OpenAI/Python 2.6.0"',
      '--client-address <address>': 'only calls from this address',
      '--status <status>': {
        text: 'only calls with this status; in_flight: on all nodes; unresolved: the node died',
        choices: ['succeeded', 'failed', 'aborted', 'in_flight', 'unresolved', 'resolved'],
      },
      '--request-id <id>':
        'the calls and refusals of a request, by the id that the gateway, the provider or the client gave it',
      ...limitOf(20),
    },
    rows: {
      'show <call>': {
        about: 'show a call, and why its attempts at providers failed',
        sends: 'GET /calls/:call',
        text: renderCall,
      },
      ...callCorrections,
    },
    async reads(admin, output, given) {
      const query = queryOf(given, FILTERS);
      const limit = String(given.limit);
      if (given.requestId !== undefined) {
        if (Object.keys(query).length > 0) throw new UsageError('--request-id: Leave the other filters out.');
        return printRequest(admin, output, { limit, requestId: String(given.requestId) });
      }
      if (query.status === 'in_flight') {
        const path = `/calls?${new URLSearchParams({ ...query, limit })}`;
        const { data } = await admin.request<Page<InFlightResponse>>('GET', path);
        output.print(data, () => renderInFlight(data));
        return 0;
      }
      const data = await listUpTo<CallResponse>(admin, '/calls', query, limit);
      output.print(data, () => renderCalls(data, 'There are no calls yet.'));
      return 0;
    },
  },
  refusals: {
    about: 'list the newest requests that were refused, and why',
    with: {
      '--account <account>': 'only refusals of this account (id or name)',
      '--code <code>': 'only refusals with this code, such as rate_limit_exceeded',
      '--from <instant>': 'only refusals since this time, such as 2026-11-20T00:00:00Z',
      '--to <instant>': 'only refusals before this time',
      ...limitOf(20),
    },
    lists: '/refusals',
    filters: ['accountId', 'code', 'from', 'to'],
    empty: 'No refusals are recorded.',
    columns: REFUSAL_COLUMNS,
  },
};

function renderCalls(calls: readonly CallResponse[], empty: string): string {
  const table = renderTable(calls, empty, [
    ...columnsOf<CallResponse>('when: startedAt', 'call: id', 'model', 'status'),
    { title: 'input', cell: ({ usage }) => String(usage === null ? 0 : inputTokensOf({ ...noUsage, ...usage })) },
    { title: 'output', cell: describeOutput },
    { title: 'charge ¥', cell: describeCharge, align: 'right' },
    ...columnsOf<CallResponse>('ms: durationMs'),
    { title: 'usage', cell: (row) => row.usage?.source ?? '' },
    ...callerColumns(calls),
  ]);
  return joined([table, whatToDo(calls)]);
}

/** Columns of facts that at least one of the calls has. */
function callerColumns(calls: readonly CallResponse[]): Column<CallResponse>[] {
  const columns: Column<CallResponse>[] = [
    { title: 'end user', cell: ({ endUser }) => endUser ?? '' },
    { title: 'tags', cell: ({ tags }) => tags.join(', ') },
    { title: 'program', cell: ({ program }) => program ?? '' },
    { title: 'from', cell: ({ clientAddress }) => clientAddress ?? '' },
  ];
  return columns.filter(({ cell }) => calls.some((call) => cell(call) !== ''));
}

async function printRequest(admin: AdminClient, output: Output, query: Record<string, string>): Promise<number> {
  const { data, refusals } = await admin.request<FoundRequest>('GET', `/calls?${new URLSearchParams(query)}`);
  output.print({ calls: data, refusals }, () => {
    const attempts = data.map((call) => renderAttempts(call.attempts));
    const text = joined([renderCalls(data, ''), ...attempts, renderTable(refusals, '', REFUSAL_COLUMNS)]);
    return text === '' ? 'No call and no refusal has this request id.' : text;
  });
  return 0;
}

const joined = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n\n');

function renderInFlight(calls: readonly InFlightResponse[]): string {
  return renderTable(calls, 'No calls are in flight.', [
    { title: 'since', cell: (row) => localTime(row.startedAt ?? row.reservedAt) },
    ...columnsOf<InFlightResponse>('call: id', 'account: accountName'),
    { title: 'key', cell: (row) => row.keyName ?? row.keyId },
    ...columnsOf<InFlightResponse>('model'),
    { title: 'route', cell: (row) => row.route.provider ?? '' },
    ...columnsOf<InFlightResponse>('node: nodeId'),
    { title: 'held', cell: describeHold, align: 'right' },
  ]);
}

function describeHold({ heldYuan, heldTokens }: Pick<InFlightResponse, 'heldYuan' | 'heldTokens'>): string {
  return heldYuan === null ? `${heldTokens ?? 0} tokens` : `¥${heldYuan}`;
}

/** Describes the output of a call: its output tokens or, without any, its images. */
function describeOutput({ usage }: CallResponse): string {
  if (usage === null) return '0';
  const tokens = outputTokensOf({ ...noUsage, ...usage });
  if (tokens > 0 || usage.images === 0) return String(tokens);
  return usage.images === 1 ? '1 image' : `${usage.images} images`;
}

function describeCharge({ context, status, chargeYuan, refundedYuan, heldYuan, usage }: CallResponse): string {
  if (status === 'unresolved' && heldYuan !== null) return `held ${heldYuan}`;
  if (chargeYuan === null) return context === 'coding' && usage !== null ? 'plan' : '-';
  return refundedYuan === null || refundedYuan === '0' ? chargeYuan : `${chargeYuan} (-${refundedYuan})`;
}
