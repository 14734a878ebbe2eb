import { type Command, InvalidArgumentError } from 'commander';
import type { CreatedKey, ReplacementKey } from '../../api/keys/key-keeper.ts';
import type { KeyResponse } from '../../api/keys/wire.ts';
import { parseDurationMs } from '../../config/units.ts';
import { addCommand, type CommandKit, type Given } from '../kit.ts';
import { localTime } from '../local-time.ts';
import { columnsOf } from '../table.ts';
import { keyFindCommand } from './key-find.ts';
import {
  addOwnerLimitOptions,
  addRateOptions,
  describeOwnerLimits,
  describeRateLimits,
  describeUse,
  NONE,
  orNull,
  ownerLimitsOf,
  rateLimitsOf,
  readList,
} from './limit-options.ts';

export function keyCommands(program: Command, kit: CommandKit): void {
  const key = program.command('key').description('create, list, find, rename, replace and revoke API keys');

  addLimitOptions(
    addCommand(key, 'create <account>', 'create an API key; it is shown once')
      .option('--name <name>', 'name of the key', 'default')
      .option('--expires <instant>', 'when the key expires, such as 2027-01-01T00:00:00Z')
      .option('--scope <names>', 'what the key may be used for: calls, account (the account API), or both', readNames)
      .option('--user <id>', 'the member of the account who owns the key'),
  ).action(
    kit.sends<CreatedKey>('POST /accounts/:accountId/keys', {
      body: (given) => ({
        name: given.name,
        expiresAt: given.expires,
        scopes: given.scope,
        userId: given.userId,
        ...limitsOf(given),
      }),
      text: (created) => `${created.key}\n\nThis is the only time the key is shown. Its id is ${created.id}.`,
    }),
  );

  addLimitOptions(
    addCommand(key, 'limit <key>', 'set limits for a key; "none" removes a limit, and so does an empty list').alias(
      'set',
    ),
  ).action(
    kit.sends<KeyResponse>('PATCH /keys/:key', {
      body: limitsOf,
      text: (changed) => `${changed.id}: ${describeLimits(changed)}`,
    }),
  );

  addCommand(key, 'rename <key> <name>', 'give a key another name', { name: 'the new name' }).action(
    kit.sends<KeyResponse>('PATCH /keys/:key', {
      body: ({ name }) => ({ name }),
      text: ({ id, name }) => `${id} is called ${name} now.`,
    }),
  );

  addCommand(key, 'list <account>', 'list the keys of an account').action(
    kit.lists<KeyResponse>('/accounts/:accountId/keys', {
      empty: ({ account }) => `The account has no keys. Create one: faregate key create ${account}`,
      columns: [
        ...columnsOf<KeyResponse>('id', 'name'),
        { title: 'key', cell: (row) => row.prefix },
        ...columnsOf<KeyResponse>('createdAt', 'expiresAt', 'lastUsedAt', 'revokedAt', 'scopes'),
        { title: 'whose', cell: describeOwner },
        { title: 'limits', cell: describeLimits },
        { title: 'used', cell: describeUse },
      ],
    }),
  );

  keyFindCommand(key, kit, describeLimits);

  addCommand(
    key,
    'replace <key>',
    'create a key with the same rights as another one; the old one is refused at once, or after a time',
  )
    .option('--keep-old <duration>', 'how long the old key stays valid, such as 24h; at most 30d', readSeconds, 0)
    .option('--expires <instant>', 'when the new key expires, such as 2027-01-01T00:00:00Z; never by default')
    .action(
      kit.sends<ReplacementKey>('POST /keys/:key/replacement', {
        body: ({ keepOld, expires }) => ({ keepOldSeconds: keepOld, expiresAt: expires }),
        text: ({ id, key: text, replaces }, { key: oldId, keepOld }) => {
          const end = keepOld === 0 ? 'is refused from now on' : `is valid until ${localTime(replaces.validUntil)}`;
          return `${text}\n\nThis is the only time the key is shown. Its id is ${id}. ${oldId} ${end}.`;
        },
      }),
    );

  addCommand(key, 'revoke <key>', 'revoke a key; it is refused at once').action(
    kit.sends('DELETE /keys/:key', {
      result: ({ key: id }) => ({ id, revoked: true }),
      text: (_, { key: id }) => `Revoked ${id}.`,
    }),
  );
}

function addLimitOptions(command: Command): Command {
  return addRateOptions(addOwnerLimitOptions(command)).option(
    '--networks <ranges>',
    'the networks from which the key may be used, such as 10.0.0.0/8,2001:db8::/32',
    readList,
  );
}

/** Parses a list that must not be empty. */
function readNames(text: string): readonly string[] {
  const names = readList(text);
  if (names === NONE) throw new InvalidArgumentError('Expected names between commas, such as calls,account.');
  return names as readonly string[];
}

function readSeconds(text: string): number {
  const durationMs = text === '0' ? 0 : parseDurationMs(text);
  if (durationMs === null || durationMs % 1_000 !== 0) {
    throw new InvalidArgumentError('Expected a duration in whole seconds, such as 24h, 30m or 7d.');
  }
  return durationMs / 1_000;
}

const limitsOf = (given: Given) => ({
  ...ownerLimitsOf(given),
  ...rateLimitsOf(given),
  allowedNetworks: orNull(given.networks),
});

function describeLimits(key: Omit<KeyResponse, 'used'>): string {
  const { allowedNetworks } = key;
  const limits = [
    ...describeOwnerLimits(key),
    ...describeRateLimits(key),
    ...(allowedNetworks === null ? [] : [`only from ${allowedNetworks.join(' ')}`]),
  ];
  return limits.length === 0 ? NONE : limits.join(', ');
}

function describeOwner({ userId, formerUserName }: KeyResponse): string {
  return [userId ?? '', formerUserName === null ? '' : `(was ${formerUserName}’s)`].filter(Boolean).join(' ');
}
