import type { Command } from 'commander';
import { resolveAccount } from './account.ts';
import type { CommandKit } from './command.ts';
import { renderTable } from './output.ts';

interface CallView {
  readonly id: string;
  readonly model: string;
  readonly status: string;
  readonly usage: { source: string; inputTokens: number; cachedInputTokens: number; outputTokens: number } | null;
  readonly chargeYuan: string | null;
  readonly durationMs: number;
  readonly startedAt: string;
}

/** `faregate calls` */
export function callsCommand(program: Command, kit: CommandKit): void {
  program
    .command('calls')
    .description('list the newest calls: what was used and what it cost')
    .option('--account <account>', 'only those of this account (id or name)')
    .option('--model <model>', 'only those of this model')
    .option('--limit <count>', 'how many', '20')
    .action(
      kit.admin(async (admin, output, _arguments, options) => {
        const query: Record<string, string> = { limit: String(options.limit) };
        if (options.account !== undefined) query.accountId = await resolveAccount(admin, String(options.account));
        if (options.model !== undefined) query.model = String(options.model);
        const { data } = await admin.request<{ data: CallView[] }>('GET', `/calls?${new URLSearchParams(query)}`);
        output.print(data, () =>
          renderTable(
            data,
            [
              { title: 'when', cell: (row) => row.startedAt },
              { title: 'call', cell: (row) => row.id },
              { title: 'model', cell: (row) => row.model },
              { title: 'status', cell: (row) => row.status },
              {
                title: 'input',
                cell: (row) => String((row.usage?.inputTokens ?? 0) + (row.usage?.cachedInputTokens ?? 0)),
                align: 'right',
              },
              { title: 'output', cell: (row) => String(row.usage?.outputTokens ?? 0), align: 'right' },
              { title: 'charge ¥', cell: (row) => row.chargeYuan ?? '-', align: 'right' },
              { title: 'ms', cell: (row) => String(row.durationMs), align: 'right' },
              { title: 'usage', cell: (row) => row.usage?.source ?? '' },
            ],
            'There are no calls yet.',
          ),
        );
      }),
    );
}
