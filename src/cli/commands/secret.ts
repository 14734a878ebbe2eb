import { readFileSync } from 'node:fs';
import type { RotationResponse, SealedSecretResponse, SealedSecretsResponse } from '../../api/sealed-secrets/admin.ts';
import { newSealingKey } from '../../config/sealed-secrets/sealing-keys.ts';
import { CliError, sayTo } from '../command.ts';
import { group } from '../command-rows.ts';
import { readSecret } from '../secret-input.ts';
import { columnsOf, renderTable } from '../table.ts';

const NAME = { '<name>': 'name of the secret: letters, digits and . _ -' };
const ABOUT = 'sealed secrets in the database: credentials of providers, which the catalog names as { secret: NAME }';

export const secretCommands = group('secret', ABOUT, {
  'set <name>': {
    about: 'set a secret to the credential on standard input; a terminal does not show it. All nodes use it at once',
    with: { ...NAME, '--file <path>': 'read the credential from this file' },
    async changes(admin, output, { name, file }, process) {
      // Not an argument, because other users of the machine can see arguments, and the shell keeps them.
      const value = file === undefined ? await readSecret(process, 'the credential') : readFile(String(file));
      const path = `/secrets/${encodeURIComponent(String(name))}`;
      const set = await admin.request<SealedSecretResponse>('PUT', path, { value });
      output.print(set, () => describeSet(set));
    },
  },
  list: {
    about:
      'list the secrets without their values: the providers that use them, who set them, and whether a key opens them',
    sends: 'GET /secrets',
    text: ({ data }: SealedSecretsResponse) =>
      renderTable(data, 'There are no sealed secrets. Set one: faregate secret set NAME', [
        ...columnsOf<SealedSecretResponse>('name'),
        { title: 'used by', cell: (row) => row.providers.join(', ') },
        ...columnsOf<SealedSecretResponse>('set: changedAt', 'by'),
        { title: 'key', cell: (row) => KEYS[row.status] },
      ]),
  },
  'delete <name>': {
    about: 'delete a secret that no provider uses',
    with: NAME,
    sends: 'DELETE /secrets/:name',
    done: 'deleted',
  },
  rotate: {
    about:
      'seal all secrets with the first key of the gateway, one after another, while it serves; exit code 1 if no key opens some of them',
    async changes(admin, output, _given, process) {
      const rotation = await admin.request<RotationResponse>('POST', '/secrets/rotate');
      output.print(rotation, () => `Secrets that were sealed with another key: ${rotation.resealed}.`);
      if (rotation.unreadable.length === 0) return 0;
      sayTo(process)(`No key of the gateway opens: ${rotation.unreadable.join(', ')}. Keep the key that does.`);
      return 1;
    },
  },
  'new-key': {
    about:
      'print a new random key for FAREGATE_SECRETS_KEY; keep a copy: it is stored nowhere, and without it no secret can be opened',
    async runs(_flags, output) {
      const key = newSealingKey();
      output.print({ key }, () => key);
      return 0;
    },
  },
});

const KEYS: Readonly<Record<SealedSecretResponse['status'], string>> = {
  current_key: 'current',
  earlier_key: 'an earlier one: run `faregate secret rotate`',
  unreadable: 'NO KEY OPENS IT',
};

function describeSet({ name, providers }: SealedSecretResponse): string {
  const use =
    providers.length === 0
      ? `Use it in the configuration: apiKey: { secret: ${name} }`
      : `Used by: ${providers.join(', ')}. Test: faregate provider test ${providers[0]}`;
  return `Set ${name}.\n${use}`;
}

/** Reads a secret from a file. @throws CliError if it cannot be read */
function readFile(path: string): string {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch (error) {
    throw new CliError(`${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
