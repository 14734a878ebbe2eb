import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { LineStream } from '../management/endpoint.ts';

export interface ExportAdminParts {
  /** All of the database as lines (`transfer/format.ts`). */
  exportDatabase(): AsyncIterable<string>;
}

export const EXPORT_PATH = '/export';

export function exportEndpoints({ exportDatabase }: ExportAdminParts): AdminEndpoint[] {
  return [
    adminEndpoint({
      method: 'POST',
      path: EXPORT_PATH,
      // It has hashes of keys and passwords, secrets of webhooks, and the responses that account holders were sent.
      needs: 'operator_person',
      // Who takes it, and when, is in the change log, also if the download breaks off.
      subject: { kind: 'database' },
      summary: 'All of the database as lines of JSON, for operators who have signed in and the command line',
      lines: { mediaType: 'application/x-ndjson', description: 'All of the database, a JSON object a line.' },
      run: async () => new LineStream(exportDatabase()),
    }),
  ];
}
