import type { Environment } from '../../config/load.ts';
import { secretsUsedBy } from '../../config/provider-credentials.ts';
import type { Config } from '../../config/schema.ts';
import { createSealedSecretsStore } from '../../config/sealed-secrets/sealed-secrets-store.ts';
import { NO_SEALING_KEY, readSealingKeys, SealingKeyError } from '../../config/sealed-secrets/sealing-keys.ts';
import { openSecrets } from '../../config/sealed-secrets/secrets.ts';
import type { DirectoryDatabase } from '../../db/home-pools.ts';
import { type Finding, failed, ok, warning } from './doctor-finding.ts';

const CHECK = 'sealed secrets';

/** Checks whether the keys in the environment are valid. */
export function checkSealingKeys(environment: Environment): Finding[] {
  try {
    readSealingKeys(environment);
    return [];
  } catch (error) {
    if (!(error instanceof SealingKeyError)) throw error;
    return [failed(CHECK, error.message, 'The gateway does not start with it.')];
  }
}

/** Checks whether the keys in the environment open the secrets of the database. Returns nothing without secrets and uses of them. */
export async function checkSealedSecrets(
  directory: DirectoryDatabase,
  environment: Environment,
  { providers }: Pick<Config, 'providers'>,
): Promise<Finding[]> {
  if (checkSealingKeys(environment).length > 0) return [];
  const keys = readSealingKeys(environment);
  const secrets = await createSealedSecretsStore(directory).listIfMigrated();
  const opened = openSecrets(secrets, () => keys);
  // Ids of providers rather than names of secrets, because a name may be a credential that was put there by mistake.
  const lacking = [...secretsUsedBy(providers)].flatMap(([name, ids]) => (opened.has(name) ? [] : ids));
  const missing =
    lacking.length === 0
      ? []
      : [failed(CHECK, `no such secret: a credential of ${lacking.join(', ')}`, 'Set it: faregate secret set NAME')];
  if (secrets.length === 0) return missing;
  const closed = secrets.filter(({ name }) => !('value' in opened.get(name)!)).map(({ name }) => name);
  if (closed.length > 0) {
    const detail = `${closed.length} of ${secrets.length} cannot be opened: ${closed.join(', ')}`;
    const advice = keys.length === 0 ? NO_SEALING_KEY : 'Add the key that they are sealed with, or set them again.';
    return [...missing, warning(CHECK, detail, advice)];
  }
  const earlier = secrets.filter(({ keyId }) => keyId !== keys[0]!.id).length;
  if (earlier > 0) {
    const detail = `${earlier} of ${secrets.length} are sealed with an earlier key`;
    return [...missing, warning(CHECK, detail, 'Seal them with the first key: faregate secret rotate')];
  }
  const detail = `${secrets.length}, and this machine can open all of them; backups contain them encrypted, so keep the key in another place`;
  return [...missing, ok(CHECK, detail)];
}
