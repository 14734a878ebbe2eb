import type { Clock } from '../../lib/clock.ts';
import { refusalOfGrant } from '../../people/grants.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { LineStream } from '../management/endpoint.ts';
import { peopleError } from '../sessions/people-errors.ts';

export interface ExportAdminParts {
  /** All of the database as lines (`transfer/format.ts`). */
  exportDatabase(): AsyncIterable<string>;
  readonly clock: Clock;
}

export const EXPORT_PATH = '/export';

export function exportEndpoints({ exportDatabase, clock }: ExportAdminParts): AdminEndpoint[] {
  return [
    adminEndpoint({
      method: 'POST',
      path: EXPORT_PATH,
      // It has hashes of keys and passwords, secrets of webhooks, and the responses that account holders were sent.
      needs: 'export',
      // Who takes it, and when, is in the change log, also if the download breaks off.
      subject: { kind: 'database' },
      summary: 'All of the database as lines of JSON',
      lines: { mediaType: 'application/x-ndjson', description: 'All of the database, a JSON object a line.' },
      async run(_input, { actor }) {
        const refusal = refusalOfGrant(actor, 'export', clock.nowMs());
        if (refusal !== null) throw peopleError(refusal);
        return new LineStream(exportDatabase());
      },
    }),
  ];
}
