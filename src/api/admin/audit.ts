import type { InvariantResult } from '../../accounting/ledger/audit-store.ts';
import { type AdminEndpoint, adminEndpoint } from './endpoint.ts';

export interface AuditAdminParts {
  readonly auditLedger: () => Promise<InvariantResult[]>;
}

/** Checks the invariants of money (`docs/architecture.md`), for `faregate audit`. */
export function auditEndpoints({ auditLedger }: AuditAdminParts): AdminEndpoint[] {
  return [
    adminEndpoint({
      method: 'GET',
      path: '/audit',
      summary: 'Check every invariant of the ledger',
      async run() {
        const invariants = await auditLedger();
        return { isSound: invariants.every(({ breaches }) => breaches.length === 0), invariants };
      },
    }),
  ];
}
