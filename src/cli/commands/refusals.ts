import type { Command } from 'commander';
import type { RefusalResponse } from '../../api/refusals/admin.ts';
import { addCommand, type CommandKit } from '../kit.ts';
import { localTime } from '../local-time.ts';
import { type Column, columnsOf } from '../table.ts';

export const refusalColumns: readonly Column<RefusalResponse>[] = [
  { title: 'when', cell: (row) => localTime(row.at) },
  { title: 'request', cell: (row) => (row.path === null && row.message === null ? '' : row.id) },
  { title: 'count', cell: (row) => String(row.count) },
  { title: 'account', cell: (row) => row.accountName ?? row.accountId ?? '' },
  { title: 'key', cell: (row) => row.keyName ?? row.keyId ?? '' },
  { title: 'from', cell: (row) => row.clientAddress ?? '' },
  ...columnsOf<RefusalResponse>('path', 'model', 'status', 'code', 'message'),
];

export function refusalsCommand(program: Command, kit: CommandKit): void {
  addCommand(program, 'refusals', 'list the newest requests that were refused, and why')
    .option('--account <account>', 'only refusals of this account (id or name)')
    .option('--code <code>', 'only refusals with this code, such as rate_limit_exceeded')
    .option('--from <instant>', 'only refusals since this time, such as 2026-11-20T00:00:00Z')
    .option('--to <instant>', 'only refusals before this time')
    .option('--limit <count>', 'maximum number of rows', '20')
    .action(
      kit.lists<RefusalResponse>('/refusals', {
        filters: ['accountId', 'code', 'from', 'to'],
        empty: 'No refusals are recorded.',
        columns: refusalColumns,
      }),
    );
}
