import type { Command } from 'commander';
import type { FoundRequest } from '../../api/calls/admin.ts';
import type { CallResponse, InFlightResponse } from '../../api/calls/wire.ts';
import type { AdminClient } from '../../api/management/admin-client.ts';
import type { Page } from '../../api/management/response-fields.ts';
import { inputTokensOf, noUsage, outputTokensOf } from '../../protocols/metering/usage-facts.ts';
import { UsageError } from '../command.ts';
import { addCommand, type CommandKit } from '../kit.ts';
import { localTime } from '../local-time.ts';
import type { Output } from '../output.ts';
import { listUpTo, queryOf } from '../pages.ts';
import { columnsOf, renderTable } from '../table.ts';
import { callCorrectionCommands } from './call-corrections.ts';
import { refusalColumns } from './refusals.ts';

export function callsCommand(program: Command, kit: CommandKit): void {
  const calls = addCommand(
    program,
    'calls',
    'list the newest calls with their usage and charge; settle or refund a call',
  )
    .option('--account <account>', 'only calls of this account (id or name)')
    .option('--model <model>', 'only calls of this model')
    .option(
      '--status <status>',
      'only calls with this status: succeeded, failed, aborted, in_flight (on all nodes), unresolved (the node died) or resolved',
    )
    .option(
      '--request-id <id>',
      'the calls and refusals of a request, by the id that the gateway, the provider or the client gave it',
    )
    .option('--limit <count>', 'maximum number of rows', '20')
    .action(
      kit.reading(async (admin, output, given) => {
        const query = queryOf(given, ['accountId', 'model', 'status']);
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
      }),
    );
  callCorrectionCommands(calls, kit);
}

function renderCalls(calls: readonly CallResponse[], empty: string): string {
  return renderTable(calls, empty, [
    { title: 'when', cell: (row) => localTime(row.startedAt) },
    { title: 'call', cell: (row) => row.id },
    ...columnsOf<CallResponse>('model', 'status'),
    { title: 'input', cell: ({ usage }) => String(usage === null ? 0 : inputTokensOf({ ...noUsage, ...usage })) },
    { title: 'output', cell: describeOutput },
    { title: 'charge ¥', cell: describeCharge, align: 'right' },
    { title: 'ms', cell: (row) => String(row.durationMs) },
    { title: 'usage', cell: (row) => row.usage?.source ?? '' },
  ]);
}

/** Prints the calls and refusals of a request. */
async function printRequest(admin: AdminClient, output: Output, query: Record<string, string>): Promise<number> {
  const { data, refusals } = await admin.request<FoundRequest>('GET', `/calls?${new URLSearchParams(query)}`);
  output.print({ calls: data, refusals }, () => {
    const tables = [renderCalls(data, ''), renderTable(refusals, '', refusalColumns)].filter((text) => text !== '');
    return tables.length === 0 ? 'No call and no refusal has this request id.' : tables.join('\n\n');
  });
  return 0;
}

function renderInFlight(calls: readonly InFlightResponse[]): string {
  return renderTable(calls, 'No calls are in flight.', [
    { title: 'since', cell: (row) => localTime(row.startedAt ?? row.reservedAt) },
    { title: 'call', cell: (row) => row.id },
    { title: 'account', cell: (row) => row.accountName },
    { title: 'key', cell: (row) => row.keyName ?? row.keyId },
    { title: 'model', cell: (row) => row.model },
    { title: 'route', cell: (row) => row.route.provider ?? '' },
    { title: 'node', cell: (row) => row.nodeId },
    { title: 'held', cell: describeHold, align: 'right' },
  ]);
}

function describeHold({ heldYuan, heldTokens }: Pick<InFlightResponse, 'heldYuan' | 'heldTokens'>): string {
  return heldYuan === null ? `${heldTokens ?? 0} tokens` : `¥${heldYuan}`;
}

/** The number of output tokens, or of images if no output tokens were counted. */
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
