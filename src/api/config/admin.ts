import { z } from 'zod';
import type { ConfigStatus } from '../../config/loads.ts';
import type { Config } from '../../config/schema.ts';
import { showConfig } from '../../config/shown.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { at, listOf } from '../management/response-fields.ts';

interface ConfigAdminDependencies {
  readonly config: () => Config;
  readonly configStatus: () => ConfigStatus;
  /** `null` if the process does not serve requests. */
  readonly nodeId: string | null;
}

const shown = z.unknown().meta({ description: 'The configuration as written in the file, without secrets.' });

const configResponse = z
  .strictObject({
    node: z.string().nullable(),
    file: z.string().nullable(),
    loadedAt: at,
    overridden: listOf(z.string()),
    needsRestart: listOf(z.string()),
    lastError: z.strictObject({ at, message: z.string() }).nullable(),
    config: shown,
  })
  .meta({ id: 'ConfigInForce' });
export type ConfigResponse = z.infer<typeof configResponse>;

/** The configuration includes defaults and values from environment variables, but no secrets. */
export function configEndpoints({ config, configStatus, nodeId }: ConfigAdminDependencies): AdminEndpoint[] {
  return [
    adminEndpoint({
      method: 'GET',
      path: '/config',
      summary: 'Show the configuration in force on this node, without secrets, and why a newer one was not applied',
      response: configResponse,
      async run() {
        const { file, overridden, loadedAtMs, needsRestart, lastError } = configStatus();
        return {
          node: nodeId,
          file,
          loadedAt: new Date(loadedAtMs).toISOString(),
          overridden,
          needsRestart,
          lastError:
            lastError === null ? null : { at: new Date(lastError.atMs).toISOString(), message: lastError.message },
          config: showConfig(config()),
        };
      },
    }),
  ];
}
