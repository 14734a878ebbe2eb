import type { InvariantResult } from '../../accounting/audit/audit-findings.ts';
import type { AuditProgress } from '../../accounting/audit/audit-store.ts';
import { AUDIT_WITH_PROGRESS, type AuditLine, type AuditResult } from '../../api/audit/admin.ts';
import type { AdminClient } from '../../api/management/admin-client.ts';
import { CliError } from '../command.ts';
import type { CommandRows } from '../command-rows.ts';
import { type Progress, withProgress } from '../progress.ts';

export const auditCommands: CommandRows = {
  audit: {
    about: 'check the invariants of the ledger; exit code 1 if one is broken',
    async reads(admin, output, _given, process) {
      const audit = await withProgress(process, (progress) => runAudit(admin, progress));
      output.print(audit, () => audit.invariants.map(describeInvariant).join('\n'));
      return audit.isSound ? 0 : 1;
    },
  },
};

/** Runs an audit. @throws CliError if the gateway ends the response before the result */
async function runAudit(admin: AdminClient, progress: Progress): Promise<AuditResult> {
  for await (const line of admin.lines<AuditLine>(AUDIT_WITH_PROGRESS)) {
    if ('result' in line) return line.result;
    progress.show(describeProgress(line.progress));
  }
  throw new CliError('The audit ended before its result. Run it again; the log of the gateway has the reason.');
}

function describeProgress({ accounts, accountsTotal, entries, calls }: AuditProgress): string {
  return `${accounts} of ${accountsTotal} accounts, ${entries} ledger entries, ${calls} calls`;
}

function describeInvariant({ invariant, breaches }: InvariantResult): string {
  if (breaches.length === 0) return `ok      ${invariant}`;
  const details = breaches.map(({ accountId, detail }) => `          ${accountId}: ${detail}`);
  return [`BROKEN  ${invariant}`, ...details].join('\n');
}
