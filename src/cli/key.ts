import type { Command } from 'commander';
import { listAll, resolveAccount } from './account.ts';
import type { CommandKit } from './command.ts';
import { renderTable } from './output.ts';

interface KeyView {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

/** `faregate key …` */
export function keyCommands(program: Command, kit: CommandKit): void {
  const key = program.command('key').description('create, list and revoke API keys');

  key
    .command('create')
    .description('create an API key; it is shown once')
    .argument('<account>', 'id or name')
    .option('--name <name>', 'what to call the key', 'default')
    .option('--expires <instant>', 'when it stops to work, such as 2027-01-01T00:00:00Z')
    .action(
      kit.admin(async (admin, output, [reference], options) => {
        const accountId = await resolveAccount(admin, reference!);
        const created = await admin.request<KeyView & { key: string }>('POST', `/accounts/${accountId}/keys`, {
          name: options.name,
          expiresAt: options.expires,
        });
        output.print(
          created,
          () => `${created.key}\n\nThis is the only time the key is shown. Its id is ${created.id}.`,
        );
      }),
    );

  key
    .command('list')
    .description('list the keys of an account')
    .argument('<account>', 'id or name')
    .action(
      kit.admin(async (admin, output, [reference]) => {
        const accountId = await resolveAccount(admin, reference!);
        const keys = await listAll<KeyView>(admin, `/accounts/${accountId}/keys`, {});
        output.print(keys, () =>
          renderTable(
            keys,
            [
              { title: 'id', cell: (row) => row.id },
              { title: 'name', cell: (row) => row.name },
              { title: 'key', cell: (row) => row.prefix },
              { title: 'created', cell: (row) => row.createdAt },
              { title: 'expires', cell: (row) => row.expiresAt ?? 'never' },
              { title: 'revoked', cell: (row) => row.revokedAt ?? '' },
            ],
            `The account has no keys. Create one: faregate key create ${reference}`,
          ),
        );
      }),
    );

  key
    .command('revoke')
    .description('revoke a key; it is refused at once')
    .argument('<key>', 'the id of the key, such as key_01…')
    .action(
      kit.admin(async (admin, output, [keyId]) => {
        await admin.request('DELETE', `/keys/${keyId}`);
        output.print({ id: keyId, revoked: true }, () => `Revoked ${keyId}.`);
      }),
    );
}
