import { z } from 'zod';
import type { ConfigStatus } from '../../config/loads.ts';
import type { NodeCatalog } from '../../config/revisions/node-catalog.ts';
import type { Config } from '../../config/schema.ts';
import { showConfig } from '../../config/shown.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { conflict } from '../management/endpoint.ts';
import { at, listOf } from '../management/response-fields.ts';

interface ConfigAdminDependencies {
  readonly config: () => Config;
  readonly configStatus: () => ConfigStatus;
  /** Id of this node; `null` if the process does not serve requests. */
  readonly nodeId: string | null;
  readonly nodeCatalog: Pick<NodeCatalog, 'reload'>;
}

const shown = z.unknown().meta({ description: 'The configuration as written in the file, without secrets.' });

const status = {
  node: z.string().nullable(),
  file: z.string().nullable(),
  loadedAt: at,
  overridden: listOf(z.string()),
  needsRestart: listOf(z.string()),
  lastError: z.strictObject({ at, message: z.string() }).nullable(),
};
const configResponse = z.strictObject({ ...status, config: shown }).meta({ id: 'ConfigInForce' });
export type ConfigResponse = z.infer<typeof configResponse>;
const reloadResponse = z.strictObject(status).meta({ id: 'ConfigReload' });
export type ReloadResponse = z.infer<typeof reloadResponse>;

/** Endpoints that show the configuration in force, with environment variables and defaults but without secrets, and reload the file. */
export function configEndpoints({
  config,
  configStatus,
  nodeId,
  nodeCatalog,
}: ConfigAdminDependencies): AdminEndpoint[] {
  const statusToWire = (): ReloadResponse => {
    const { file, overridden, loadedAtMs, needsRestart, lastError } = configStatus();
    return {
      node: nodeId,
      file,
      loadedAt: new Date(loadedAtMs).toISOString(),
      overridden,
      needsRestart,
      lastError: lastError === null ? null : { at: new Date(lastError.atMs).toISOString(), message: lastError.message },
    };
  };

  return [
    adminEndpoint({
      method: 'GET',
      path: '/config',
      summary: 'Show the configuration in force on this node, without secrets, and why a newer one was not applied',
      response: configResponse,
      run: async () => ({ ...statusToWire(), config: showConfig(config()) }),
    }),
    adminEndpoint({
      method: 'POST',
      path: '/config/reload',
      summary: 'Read the configuration file of this node again; the response says whether it is in force',
      subject: { kind: 'node', named: () => nodeId },
      response: reloadResponse,
      async run() {
        if (nodeCatalog.reload === null) throw conflict('This process does not serve a configuration file.');
        await nodeCatalog.reload();
        return statusToWire();
      },
    }),
  ];
}
