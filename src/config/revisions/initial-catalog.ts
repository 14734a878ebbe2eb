import { existsSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { type CatalogText, ConfigError, readConfigFile } from '../load.ts';
import type { NodeConfig } from '../node-config.ts';
import type { Config } from '../schema.ts';
import { secretProblems } from './catalog-reader.ts';
import type { RevisionStore } from './revisions-store.ts';

type CatalogSettings = Pick<Config, 'catalog' | 'initialCatalog'>;

/** The file that `initialCatalog` names. A relative path starts from the directory of the configuration file. */
export function initialCatalogFile(configFile: string, name: string): string {
  return isAbsolute(name) ? name : join(dirname(configFile), name);
}

/** The text with which a database without revisions begins; `null`: the configuration names no file, or it does not exist. */
export function findInitialCatalog(
  { catalog, initialCatalog }: CatalogSettings,
  configFile: string,
): CatalogText | null {
  if (catalog === 'file' || initialCatalog === undefined) return null;
  const file = initialCatalogFile(configFile, initialCatalog);
  return existsSync(file) ? { name: file, text: readConfigFile(file).text } : null;
}

/** Refuses secrets, because a revision must contain none. @throws ConfigError */
export function refuseSecrets(configFile: string, { name, text }: CatalogText): void {
  const problems = secretProblems(text).map((problem) => ({ ...problem, revision: name }));
  if (problems.length > 0) throw new ConfigError(configFile, problems);
}

interface FirstRevisionOptions {
  readonly store: Pick<RevisionStore, 'last' | 'insert'>;
  readonly node: NodeConfig;
  readonly settings: CatalogSettings;
  readonly nodeId: string;
}

/**
 * Puts the initial catalog in force, unless the database has a revision already. This happens at once, because no node serves calls before.
 *
 * @throws ConfigError if the file is needed, and is missing or not valid
 */
export async function insertFirstRevision({ store, node, settings, nodeId }: FirstRevisionOptions): Promise<void> {
  const { initialCatalog } = settings;
  if (initialCatalog === undefined || (await store.last()) !== null) return;
  const name = initialCatalogFile(node.file, initialCatalog);
  const catalog = { name, text: readConfigFile(name).text };
  node.parse({ catalog });
  refuseSecrets(node.file, catalog);
  const reason = `the content of ${basename(name)}`;
  const revision = {
    text: catalog.text,
    source: 'push',
    base: null,
    reason,
    createdBy: nodeId,
    inForceAtMs: null,
  } as const;
  // If another node was faster, its revision is in force.
  await store.insert(revision, 0);
}
