import type { Command } from 'commander';
import type { InvariantResult } from '../accounting/ledger/audit-store.ts';
import type { CommandKit } from './command.ts';

/** `faregate audit` */
export function auditCommand(program: Command, kit: CommandKit): void {
  program
    .command('audit')
    .description('prove the invariants of the ledger; exit code 1 where one is broken')
    .action(
      kit.reading(async (admin, output) => {
        const audit = await admin.request<{ isSound: boolean; invariants: InvariantResult[] }>('GET', '/audit');
        output.print(audit, () => audit.invariants.map(describeInvariant).join('\n'));
        return audit.isSound ? 0 : 1;
      }),
    );
}

function describeInvariant({ invariant, breaches }: InvariantResult): string {
  if (breaches.length === 0) return `ok      ${invariant}`;
  const details = breaches.map(({ accountId, detail }) => `          ${accountId}: ${detail}`);
  return [`BROKEN  ${invariant}`, ...details].join('\n');
}
