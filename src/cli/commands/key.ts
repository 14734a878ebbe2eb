import { type Command, InvalidArgumentError } from 'commander';
import type { CreatedKey, ReplacementKey } from '../../api/keys/key-keeper.ts';
import type { KeyResponse } from '../../api/keys/wire.ts';
import { parseDurationMs } from '../../config/units.ts';
import { resolveAccount } from '../account-reference.ts';
import type { CommandKit } from '../command.ts';
import { localTime } from '../local-time.ts';
import { listAll } from '../pages.ts';
import { printTable } from '../table.ts';
import { keyFindCommand } from './key-find.ts';
import { addOwnerLimitOptions, describeOwnerLimits, describeUse, readList, readOwnerLimits } from './limit-options.ts';
import { addMinuteOptions, describeMinuteLimits, NONE, orNull, readMinuteLimits } from './minute-options.ts';

/** `faregate key …` */
export function keyCommands(program: Command, kit: CommandKit): void {
  const key = program.command('key').description('create, list, find, rename, replace and revoke API keys');

  addLimitOptions(
    key
      .command('create')
      .description('create an API key; it is shown once')
      .argument('<account>', 'id or name')
      .option('--name <name>', 'what to call the key', 'default')
      .option('--expires <instant>', 'when it expires, such as 2027-01-01T00:00:00Z')
      .option('--scope <names>', 'what it may be used for: calls, account (the account API), or both', readNames)
      .option('--user <id>', 'the member of the account whose key it is'),
  ).action(
    kit.changing(async (admin, output, [reference], options) => {
      const accountId = await resolveAccount(admin, reference!);
      const created = await admin.request<CreatedKey>('POST', `/accounts/${accountId}/keys`, {
        name: options.name,
        expiresAt: options.expires,
        scopes: options.scope,
        userId: options.user,
        ...readLimits(options),
      });
      output.print(created, () => `${created.key}\n\nThis is the only time the key is shown. Its id is ${created.id}.`);
    }),
  );

  const ofKey = (name: string, description: string): Command =>
    key.command(name).description(description).argument('<key>', 'the id of the key, such as key_01…');

  addLimitOptions(
    ofKey('limit', 'limit what a key may use; "none" takes a limit away, and so does an empty list').alias('set'),
  ).action(
    kit.changing(async (admin, output, [keyId], options) => {
      const changed = await admin.request<KeyResponse>('PATCH', `/keys/${keyId}`, readLimits(options));
      output.print(changed, () => `${changed.id}: ${describeLimits(changed)}`);
    }),
  );

  ofKey('rename', 'give a key another name')
    .argument('<name>', 'what to call it')
    .action(
      kit.changing(async (admin, output, [keyId, name]) => {
        const changed = await admin.request<KeyResponse>('PATCH', `/keys/${keyId}`, { name });
        output.print(changed, () => `${changed.id} is called ${changed.name} now.`);
      }),
    );

  key
    .command('list')
    .description('list the keys of an account')
    .argument('<account>', 'id or name')
    .action(
      kit.reading(async (admin, output, [reference]) => {
        const accountId = await resolveAccount(admin, reference!);
        const keys = await listAll<KeyResponse>(admin, `/accounts/${accountId}/keys`, {});
        printTable(output, keys, `The account has no keys. Create one: faregate key create ${reference}`, [
          { title: 'id', cell: (row) => row.id },
          { title: 'name', cell: (row) => row.name ?? '' },
          { title: 'key', cell: (row) => row.prefix },
          { title: 'created', cell: (row) => localTime(row.createdAt) },
          { title: 'expires', cell: (row) => localTime(row.expiresAt ?? 'never') },
          { title: 'last used', cell: (row) => localTime(row.lastUsedAt ?? '') },
          { title: 'revoked', cell: (row) => localTime(row.revokedAt ?? '') },
          { title: 'scopes', cell: (row) => row.scopes.join(' ') },
          { title: 'whose', cell: whoseKey },
          { title: 'limits', cell: describeLimits },
          { title: 'used', cell: (row) => describeUse(row) },
        ]);
      }),
    );

  keyFindCommand(key, kit, describeLimits);

  ofKey(
    'replace',
    'make a new key that may do the same as another one; the old one is refused at once, or after a time',
  )
    .option('--keep-old <duration>', 'how long the old key is valid still, such as 24h; at most 30d', readSeconds, 0)
    .option('--expires <instant>', 'when the new key expires, such as 2027-01-01T00:00:00Z; never by default')
    .action(
      kit.changing(async (admin, output, [keyId], options) => {
        const made = await admin.request<ReplacementKey>('POST', `/keys/${keyId}/replacement`, {
          keepOldSeconds: options.keepOld,
          expiresAt: options.expires,
        });
        output.print(made, () => {
          const end =
            options.keepOld === 0 ? 'is refused from now on' : `is valid until ${localTime(made.replaces.validUntil)}`;
          return `${made.key}\n\nThis is the only time the key is shown. Its id is ${made.id}. ${keyId} ${end}.`;
        });
      }),
    );

  ofKey('revoke', 'revoke a key; it is refused at once').action(
    kit.changing(async (admin, output, [keyId]) => {
      await admin.request('DELETE', `/keys/${keyId}`);
      output.print({ id: keyId, revoked: true }, () => `Revoked ${keyId}.`);
    }),
  );
}

function addLimitOptions(command: Command): Command {
  const limited = addOwnerLimitOptions(command).option(
    '--networks <ranges>',
    'where it may be used from, such as 10.0.0.0/8,2001:db8::/32',
    readList,
  );
  return addMinuteOptions(limited);
}

/** Parses names between commas. */
function readNames(text: string): readonly string[] {
  const names = readList(text);
  if (names === NONE) throw new InvalidArgumentError('Expected names between commas, such as calls,account.');
  return names as readonly string[];
}

/** Parses a duration such as `24h`. */
function readSeconds(text: string): number {
  const durationMs = text === '0' ? 0 : parseDurationMs(text);
  if (durationMs === null || durationMs % 1_000 !== 0) {
    throw new InvalidArgumentError('Expected a duration in whole seconds, such as 24h, 30m or 7d.');
  }
  return durationMs / 1_000;
}

/** The limits that the options set; all others stay unchanged. */
const readLimits = (options: Record<string, unknown>) => ({
  ...readOwnerLimits(options),
  ...readMinuteLimits(options),
  allowedNetworks: orNull(options.networks),
});

function describeLimits(key: Omit<KeyResponse, 'used'>): string {
  const { allowedNetworks } = key;
  const limits = [
    ...describeOwnerLimits(key),
    ...describeMinuteLimits(key),
    ...(allowedNetworks === null ? [] : [`only from ${allowedNetworks.join(' ')}`]),
  ];
  return limits.length === 0 ? NONE : limits.join(', ');
}

function whoseKey({ userId, formerUserName }: KeyResponse): string {
  return [userId ?? '', formerUserName === null ? '' : `(was ${formerUserName}’s)`].filter(Boolean).join(' ');
}
