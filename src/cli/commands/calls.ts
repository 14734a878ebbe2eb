import type { Command } from 'commander';
import type { FoundRequest } from '../../api/calls/admin.ts';
import type { CallResponse, InFlightResponse } from '../../api/calls/wire.ts';
import type { AdminClient } from '../../api/management/admin-client.ts';
import type { Page } from '../../api/management/response-fields.ts';
import { inputTokensOf, noUsage, outputTokensOf } from '../../protocols/metering/usage-facts.ts';
import { type CommandKit, UsageError } from '../command.ts';
import { localTime } from '../local-time.ts';
import type { Output } from '../output.ts';
import { listUpTo } from '../pages.ts';
import { queryOf } from '../query.ts';
import { renderTable } from '../table.ts';
import { callCorrectionCommands } from './call-corrections.ts';
import { renderRefusals } from './refusals.ts';

/** `faregate calls` */
export function callsCommand(program: Command, kit: CommandKit): void {
  const calls = program
    .command('calls')
    .description('list the newest calls: what was used and what it cost; settle and refund single ones')
    .option('--account <account>', 'only those of this account (id or name)')
    .option('--model <model>', 'only those of this model')
    .option(
      '--status <status>',
      'only those that are succeeded, failed, aborted, in_flight (over all nodes), unresolved (their node died) or resolved',
    )
    .option(
      '--request-id <id>',
      "the calls and refusals of a request: its id here, at the provider, or the client's own",
    )
    .option('--limit <count>', 'how many', '20')
    .action(
      kit.reading(async (admin, output, _arguments, options) => {
        const query = await queryOf(admin, options, ['model', 'status']);
        if (options.requestId !== undefined) {
          if (Object.keys(query).length > 0) throw new UsageError('--request-id: Leave the other filters out.');
          const asked = { limit: String(options.limit), requestId: String(options.requestId) };
          await printRequest(admin, output, new URLSearchParams(asked));
          return;
        }
        const path = `/calls?${new URLSearchParams({ ...query, limit: String(options.limit) })}`;
        if (query.status === 'in_flight') {
          const { data } = await admin.request<Page<InFlightResponse>>('GET', path);
          output.print(data, () => renderInFlight(data));
          return;
        }
        const data = await listUpTo<CallResponse>(admin, '/calls', query, String(options.limit));
        output.print(data, () => renderCalls(data, 'There are no calls yet.'));
      }),
    );
  callCorrectionCommands(calls, kit);
}

function renderCalls(calls: readonly CallResponse[], empty: string): string {
  return renderTable(calls, empty, [
    { title: 'when', cell: (row) => localTime(row.startedAt) },
    { title: 'call', cell: (row) => row.id },
    { title: 'model', cell: (row) => row.model },
    { title: 'status', cell: (row) => row.status },
    { title: 'input', cell: (row) => inputOf(row.usage), align: 'right' },
    { title: 'output', cell: (row) => outputOf(row.usage), align: 'right' },
    { title: 'charge ¥', cell: chargeOf, align: 'right' },
    { title: 'ms', cell: (row) => String(row.durationMs), align: 'right' },
    { title: 'usage', cell: (row) => row.usage?.source ?? '' },
  ]);
}

/** What became of a request: its calls, and what was refused. */
async function printRequest(admin: AdminClient, output: Output, query: URLSearchParams): Promise<void> {
  const { data, refusals } = await admin.request<FoundRequest>('GET', `/calls?${query}`);
  output.print({ calls: data, refusals }, () => {
    const parts = [
      ...(data.length === 0 ? [] : [renderCalls(data, '')]),
      ...(refusals.length === 0 ? [] : [renderRefusals(refusals, '')]),
    ];
    return parts.length === 0 ? 'No call and no refusal has this request id.' : parts.join('\n\n');
  });
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
    { title: 'held', cell: heldOf, align: 'right' },
  ]);
}

function heldOf({ heldYuan, heldTokens }: Pick<InFlightResponse, 'heldYuan' | 'heldTokens'>): string {
  return heldYuan === null ? `${heldTokens ?? 0} tokens` : `¥${heldYuan}`;
}

function inputOf(usage: CallResponse['usage']): string {
  if (usage === null) return '0';
  return String(inputTokensOf({ ...noUsage, ...usage }));
}

/** The output in tokens, or in images if no tokens were counted. */
function outputOf(usage: CallResponse['usage']): string {
  if (usage === null) return '0';
  const tokens = outputTokensOf({ ...noUsage, ...usage });
  if (tokens > 0 || usage.images === 0) return String(tokens);
  return usage.images === 1 ? '1 image' : `${usage.images} images`;
}

function chargeOf({ context, status, chargeYuan, refundedYuan, heldYuan, usage }: CallResponse): string {
  if (status === 'unresolved' && heldYuan !== null) return `held ${heldYuan}`;
  if (chargeYuan === null) return context === 'coding' && usage !== null ? 'plan' : '-';
  return refundedYuan === null || refundedYuan === '0' ? chargeYuan : `${chargeYuan} (-${refundedYuan})`;
}
