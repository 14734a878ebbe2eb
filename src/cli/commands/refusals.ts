import type { Command } from 'commander';
import type { Page } from '../../api/management/response-fields.ts';
import type { RefusalResponse } from '../../api/refusals/admin.ts';
import type { CommandKit } from '../command.ts';
import { localTime } from '../local-time.ts';
import { queryOf } from '../query.ts';
import { renderTable } from '../table.ts';

/** `faregate refusals` */
export function refusalsCommand(program: Command, kit: CommandKit): void {
  program
    .command('refusals')
    .description('list the newest requests that were refused, and why')
    .option('--account <account>', 'only those of this account (id or name)')
    .option('--code <code>', 'only those with this code, such as rate_limit_exceeded')
    .option('--from <instant>', 'only those since then, such as 2026-11-20T00:00:00Z')
    .option('--to <instant>', 'only those before')
    .option('--limit <count>', 'how many', '20')
    .action(
      kit.reading(async (admin, output, _arguments, options) => {
        const query = await queryOf(admin, options, ['limit', 'code', 'from', 'to']);
        const { data } = await admin.request<Page<RefusalResponse>>('GET', `/refusals?${new URLSearchParams(query)}`);
        output.print(data, () => renderRefusals(data, 'No refusals are recorded.'));
      }),
    );
}

export function renderRefusals(refusals: readonly RefusalResponse[], empty: string): string {
  return renderTable(refusals, empty, [
    { title: 'when', cell: (row) => localTime(row.at) },
    { title: 'request', cell: (row) => (row.path === null && row.message === null ? '' : row.id) },
    { title: 'count', cell: (row) => String(row.count), align: 'right' },
    { title: 'account', cell: (row) => row.accountName ?? row.accountId ?? '' },
    { title: 'key', cell: (row) => row.keyName ?? row.keyId ?? '' },
    { title: 'from', cell: (row) => row.clientAddress ?? '' },
    { title: 'path', cell: (row) => row.path ?? '' },
    { title: 'model', cell: (row) => row.model ?? '' },
    { title: 'status', cell: (row) => String(row.status ?? '') },
    { title: 'code', cell: (row) => row.code },
    { title: 'message', cell: (row) => row.message ?? '' },
  ]);
}
