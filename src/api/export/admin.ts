import type { Clock } from '../../lib/clock.ts';
import { refusalOfGrant } from '../../people/grants.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { LineStream } from '../management/endpoint.ts';
import { peopleError } from '../sessions/people-errors.ts';

interface ExportAdminDependencies {
  exportDatabase(): AsyncIterable<string>;
  readonly clock: Clock;
}

export const EXPORT_PATH = '/export';

export function exportEndpoints({ exportDatabase, clock }: ExportAdminDependencies): AdminEndpoint[] {
  return [
    adminEndpoint({
      method: 'POST',
      path: EXPORT_PATH,
      // A permission of its own, because the export contains hashes of keys and passwords, webhook secrets and stored responses.
      needs: 'export',
      // Recorded in the audit log, even if the download is interrupted.
      subject: { kind: 'database' },
      summary: 'Export the whole database as lines of JSON',
      lines: { mediaType: 'application/x-ndjson', description: 'The whole database, one JSON object per line.' },
      async run(_input, { actor }) {
        const refusal = refusalOfGrant(actor, 'export', clock.nowMs());
        if (refusal !== null) throw peopleError(refusal);
        return new LineStream(exportDatabase());
      },
    }),
  ];
}
