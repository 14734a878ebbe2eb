import { isPlaceholder } from '../lib/weak-secret.ts';
import type { ConfigWarning } from './price-warnings.ts';
import { credentialsOf } from './provider-credentials.ts';
import type { Config } from './schema.ts';

type Part = Pick<Config, 'database' | 'mail' | 'oidc' | 'providers'>;

/** The secrets of a configuration, and of the environment that it names, that are placeholders of an example. */
export function secretWarnings(config: Part): ConfigWarning[] {
  return secretsOf(config).flatMap(([key, value]): ConfigWarning[] => {
    if (value === undefined || value === '' || !isPlaceholder(value)) return [];
    return [{ key, message: 'This is a placeholder, which anybody can guess.' }];
  });
}

function secretsOf({ database, mail, oidc, providers }: Part): (readonly [key: string, value: string | undefined])[] {
  return [
    ['database.url', PASSWORD_IN_ADDRESS.exec(database.url)?.[1]],
    ['mail.smtp.password', mail?.smtp.password],
    ...Object.entries(oidc).map(([id, { clientSecret }]) => [`oidc.${id}.clientSecret`, clientSecret] as const),
    ...Object.entries(providers).flatMap(([id, provider]) =>
      credentialsOf(provider).map(({ name, value }) => [`providers.${id}.${name}`, value] as const),
    ),
  ];
}

const PASSWORD_IN_ADDRESS = /^[a-z]+:\/\/[^:@/?#]*:([^@]*)@/;
