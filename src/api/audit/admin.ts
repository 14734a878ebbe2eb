import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import type { InvariantResult } from '../../accounting/audit/audit-findings.ts';
import type { AuditOptions, AuditProgress } from '../../accounting/audit/audit-store.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { LineStream } from '../management/endpoint.ts';
import { listOf } from '../management/response-fields.ts';

export interface AuditAdminParts {
  readonly auditLedger: (options?: Pick<AuditOptions, 'onProgress' | 'signal'>) => Promise<InvariantResult[]>;
}

const auditResponse = z
  .strictObject({
    isSound: z.boolean(),
    invariants: listOf(
      z.strictObject({
        invariant: z.string(),
        breaches: listOf(z.strictObject({ accountId: z.string(), detail: z.string() })),
      }),
    ),
  })
  .meta({ id: 'Audit' });

export type AuditResult = z.infer<typeof auditResponse>;

/** A line of an audit with progress; the last one has the result. */
export type AuditLine = { readonly progress: AuditProgress } | { readonly result: AuditResult };

export const AUDIT_WITH_PROGRESS = '/audit?progress=true';

const auditQuery = z.strictObject({ progress: z.enum(['true', 'false']).default('false') });

/** Checks the invariants of money (`docs/architecture.md`), for `faregate audit`. */
export function auditEndpoints({ auditLedger }: AuditAdminParts): AdminEndpoint[] {
  return [
    adminEndpoint({
      // An audit is much work, so a page of another site must not be able to start it.
      method: 'POST',
      path: '/audit',
      needs: 'read',
      isChange: false,
      summary: 'Check every invariant of the ledger; with progress=true line by line, the result last',
      query: auditQuery,
      response: auditResponse,
      lines: {
        mediaType: 'application/x-ndjson',
        description: 'With progress=true: an object with `progress` a line, and one with `result` at the end.',
      },
      async run({ query }) {
        if (query.progress === 'true') return new LineStream(auditLines(auditLedger));
        return toResult(await auditLedger());
      },
    }),
  ];
}

const toResult = (invariants: readonly InvariantResult[]): AuditResult => ({
  isSound: invariants.every(({ breaches }) => breaches.length === 0),
  invariants,
});

const LINE_EVERY_MS = 500;

/** Whoever stops reading ends the audit. */
async function* auditLines(auditLedger: AuditAdminParts['auditLedger']): AsyncGenerator<string> {
  const line = (value: AuditLine): string => `${JSON.stringify(value)}\n`;
  const unwanted = new AbortController();
  let progress: AuditProgress | null = null;
  const onProgress = (next: AuditProgress): void => {
    progress = next;
  };
  const audit = auditLedger({ onProgress, signal: unwanted.signal });
  // Whether it fails shows when it is awaited.
  audit.catch(() => undefined);
  try {
    for (;;) {
      const pause = new AbortController();
      const results = await Promise.race([
        audit,
        setTimeout(LINE_EVERY_MS, null, { signal: pause.signal }).catch(() => null),
      ]).finally(() => pause.abort());
      if (results !== null) {
        yield line({ result: toResult(results) });
        return;
      }
      if (progress !== null) yield line({ progress });
    }
  } finally {
    unwanted.abort(new Error('nobody waits for the audit any longer'));
  }
}
