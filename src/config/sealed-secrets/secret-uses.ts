import { isRecord } from '../../lib/json/json.ts';
import { readDocument } from '../document.ts';
import { secretsUsedBy } from '../provider-credentials.ts';
import type { RevisionStore } from '../revisions/revisions-store.ts';
import type { Config } from '../schema.ts';

/** Returns the names of sealed secrets that are used, with the ids of the providers that use them. */
export type SecretUses = () => Promise<ReadonlyMap<string, readonly string[]>>;

/** Finds uses in the configuration in force, and in the revisions of the catalog that are in force or scheduled. */
export function createSecretUses(
  config: () => Pick<Config, 'providers'>,
  revisions: Pick<RevisionStore, 'latest'>,
): SecretUses {
  return async () => {
    const { current, scheduled } = await revisions.latest();
    const texts = [...(current === null ? [] : [current]), ...scheduled].map(({ text }) => text);
    const all = [config().providers, ...texts.map(providersIn)].flatMap((providers) => [...secretsUsedBy(providers)]);
    const byName = Map.groupBy(all, ([name]) => name);
    return new Map([...byName].map(([name, uses]) => [name, [...new Set(uses.flatMap(([, ids]) => ids))]]));
  };
}

/** Returns the section as it is written, so its variables need not be set in this process. */
function providersIn(text: string): unknown {
  const { value } = readDocument(text, {});
  return isRecord(value) ? value.providers : undefined;
}
