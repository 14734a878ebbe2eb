import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import type { InvariantResult } from '../../accounting/audit/audit-findings.ts';
import type { AuditOptions, AuditProgress } from '../../accounting/audit/audit-store.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { LineStream } from '../management/endpoint.ts';
import { listOf } from '../management/response-fields.ts';

interface AuditAdminDependencies {
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

export type AuditLine = { readonly progress: AuditProgress } | { readonly result: AuditResult };

export const AUDIT_WITH_PROGRESS = '/audit?progress=true';

const auditQuery = z.strictObject({ progress: z.enum(['true', 'false']).default('false') });

/** The endpoint behind `faregate audit`. `docs/architecture.md` lists the invariants. */
export function auditEndpoints({ auditLedger }: AuditAdminDependencies): AdminEndpoint[] {
  return [
    adminEndpoint({
      // POST rather than GET, so that a page of another site cannot start an expensive audit.
      method: 'POST',
      path: '/audit',
      needs: 'read',
      isChange: false,
      summary: 'Check every invariant of the ledger; with progress=true, progress lines followed by the result',
      query: auditQuery,
      response: auditResponse,
      lines: {
        mediaType: 'application/x-ndjson',
        description: 'With progress=true: one object with `progress` per line, and finally one with `result`.',
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

/** Yields the lines of the response. If the client stops reading, the audit is aborted. */
async function* auditLines(auditLedger: AuditAdminDependencies['auditLedger']): AsyncGenerator<string> {
  const line = (value: AuditLine): string => `${JSON.stringify(value)}\n`;
  const unwanted = new AbortController();
  let progress: AuditProgress | null = null;
  const onProgress = (next: AuditProgress): void => {
    progress = next;
  };
  const audit = auditLedger({ onProgress, signal: unwanted.signal });
  // Prevents an unhandled rejection: a failure is handled where `audit` is awaited.
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
    unwanted.abort(new Error('the client of the audit has disconnected'));
  }
}
