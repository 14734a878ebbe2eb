import { dirname, resolve, sep } from 'node:path';
import { isRecord } from '../lib/json/json.ts';
import type { Path } from './document.ts';
import { isPem } from './fields.ts';

/**
 * This file limits what a catalog in the database can read from the machine of a node. Operators edit the catalog over HTTP, and must
 * neither see the gateway's secrets nor send them to a provider.
 */

/** Where orchestrators mount secrets as files. */
const MOUNTED_SECRETS = '/run/secrets';

const CREDENTIAL_VARIABLE = /^(?!FAREGATE_|AWS_).*_(KEY|TOKEN|PROXY)$/;

/** The address of the demo's provider, which is not secret. Only the demo sets it. */
export const DEMO_PROVIDER_VARIABLE = 'FAREGATE_DEMO_PROVIDER';

/** Returns why a catalog may not use a variable at a path; `null` if it may. */
export function variableBreach(path: Path, name: string): string | null {
  if (name === DEMO_PROVIDER_VARIABLE) return null;
  // A credential with limits has its value in a section.
  const isValue = (path[2] === 'apiKey' || path[2] === 'apiKeys') && path.at(-1) === 'value';
  const [section, , field, ...below] = isValue ? path.slice(0, -1) : path;
  const isCredential =
    section === 'providers' &&
    ((below.length === 0 && (field === 'apiKey' || field === 'proxy')) ||
      (below.length === 1 && (field === 'apiKeys' || field === 'headers')));
  if (!isCredential)
    return 'A catalog in the database can use variables only in "apiKey", "apiKeys", "headers" and "proxy". Write the value itself.';
  if (CREDENTIAL_VARIABLE.test(name)) return null;
  return `A catalog in the database can use variables whose names end with _KEY, _TOKEN or _PROXY, and not ${name}.`;
}

/**
 * Returns the files that a catalog may not read: those that are neither in the configuration file's directory nor mounted secrets.
 *
 * @param value the values of the catalog
 */
export function fileBreaches(value: unknown, configFile: string): { readonly path: Path; readonly message: string }[] {
  const folders = [resolve(dirname(configFile)), MOUNTED_SECRETS];
  const isInside = (file: string): boolean => folders.some((folder) => resolve(file).startsWith(folder + sep));
  const message = `A catalog in the database can use only files in ${folders[0]} or ${MOUNTED_SECRETS}.`;
  return filesOf(value)
    .filter(({ file }) => !isInside(file))
    .map(({ path }) => ({ path, message }));
}

function filesOf(value: unknown): { readonly path: Path; readonly file: string }[] {
  const providers = isRecord(value) && isRecord(value.providers) ? Object.entries(value.providers) : [];
  const source = isRecord(value) && isRecord(value.priceSource) ? value.priceSource.file : undefined;
  const prices = typeof source === 'string' ? [{ path: ['priceSource', 'file'], file: source }] : [];
  const ofProviders = providers.flatMap(([id, provider]) => {
    if (!isRecord(provider)) return [];
    const { apiKey, apiKeys, ca } = provider;
    const listed = Array.isArray(apiKeys) ? apiKeys : [];
    const credentials = [
      [['apiKey'], apiKey] as const,
      ...listed.map((key, index) => [['apiKeys', index], key] as const),
    ];
    const named = credentials.flatMap(([place, credential]) =>
      isRecord(credential) && typeof credential.file === 'string'
        ? [{ path: ['providers', id, ...place, 'file'], file: credential.file }]
        : [],
    );
    return typeof ca === 'string' && !isPem(ca) ? [...named, { path: ['providers', id, 'ca'], file: ca }] : named;
  });
  return [...ofProviders, ...prices];
}
