import { auditLedger } from '../billing/audit.ts';
import type { Queryable } from '../db/database.ts';
import { type AdminEndpoint, adminEndpoint } from './endpoint.ts';

export interface AuditAdminParts {
  readonly database: Queryable;
}

/** Proof of the ledger's invariants (design 6), for `faregate audit`. */
export function auditEndpoints({ database }: AuditAdminParts): AdminEndpoint[] {
  return [
    adminEndpoint({
      method: 'GET',
      path: '/audit',
      summary: 'Check every invariant of the ledger',
      async run() {
        const invariants = await auditLedger(database);
        return { isSound: invariants.every(({ breaches }) => breaches.length === 0), invariants };
      },
    }),
  ];
}
