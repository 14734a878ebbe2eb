import { InvalidArgumentError } from 'commander';
import type { CreatedKey, ReplacementKey } from '../../api/keys/key-keeper.ts';
import type { KeyResponse } from '../../api/keys/wire.ts';
import { parseDurationMs } from '../../config/units.ts';
import { type Given, group, type Options } from '../command-rows.ts';
import { localTime } from '../local-time.ts';
import { columnsOf } from '../table.ts';
import { keyFind } from './key-find.ts';
import {
  describeKeyLimits,
  describeUse,
  NONE,
  OWNER_LIMIT_OPTIONS,
  orNull,
  ownerLimitsOf,
  RATE_OPTIONS,
  rateLimitsOf,
  readList,
} from './limit-options.ts';

const LIMIT_OPTIONS: Options = {
  ...OWNER_LIMIT_OPTIONS,
  ...RATE_OPTIONS,
  '--networks <ranges>': {
    text: 'the networks from which the key may be used, such as 10.0.0.0/8,2001:db8::/32',
    parse: readList,
  },
};

export const keyCommands = group('key', 'create, list, find, rename, replace and revoke API keys', {
  'create <account>': {
    about: 'create an API key; it is shown once',
    with: {
      '--name <name>': { text: 'name of the key', default: 'default' },
      '--expires <instant>': 'when the key expires, such as 2027-01-01T00:00:00Z',
      '--scope <names>': {
        text: 'what the key may be used for: calls, account (the account API), or both',
        parse: readNames,
      },
      '--user <id>': 'the member of the account who owns the key',
      ...LIMIT_OPTIONS,
    },
    sends: 'POST /accounts/:accountId/keys',
    body: (given) => ({
      name: given.name,
      expiresAt: given.expires,
      scopes: given.scope,
      userId: given.userId,
      ...limitsOf(given),
    }),
    text: ({ key, id }: CreatedKey) => `${key}\n\nThis is the only time the key is shown. Its id is ${id}.`,
  },
  'limit <key>': {
    alias: 'set',
    about: 'set limits for a key; "none" removes a limit, and so does an empty list',
    with: LIMIT_OPTIONS,
    sends: 'PATCH /keys/:key',
    body: limitsOf,
    text: (changed: KeyResponse) => `${changed.id}: ${describeKeyLimits(changed)}`,
  },
  'rename <key> <name>': {
    about: 'give a key another name',
    with: { '<name>': 'the new name' },
    sends: 'PATCH /keys/:key',
    body: ['name'],
    text: ({ id, name }: KeyResponse) => `${id} is called ${name} now.`,
  },
  'list <account>': {
    about: 'list the keys of an account',
    lists: '/accounts/:accountId/keys',
    empty: ({ account }) => `The account has no keys. Create one: faregate key create ${account}`,
    columns: [
      ...columnsOf<KeyResponse>(
        'id',
        'name',
        'key: prefix',
        'createdAt',
        'expiresAt',
        'lastUsedAt',
        'revokedAt',
        'scopes',
      ),
      { title: 'whose', cell: describeOwner },
      { title: 'limits', cell: describeKeyLimits },
      { title: 'used', cell: describeUse },
    ],
  },
  ...keyFind,
  'replace <key>': {
    about: 'create a key with the same rights as another one; the old one is refused at once, or after a time',
    with: {
      '--keep-old <duration>': {
        text: 'how long the old key stays valid, such as 24h; at most 30d',
        parse: readSeconds,
        default: 0,
      },
      '--expires <instant>': 'when the new key expires, such as 2027-01-01T00:00:00Z; never by default',
    },
    sends: 'POST /keys/:key/replacement',
    body: ['keepOldSeconds: keepOld', 'expiresAt: expires'],
    text: ({ id, key: text, replaces }: ReplacementKey, { key: oldId, keepOld }) => {
      const end = keepOld === 0 ? 'is refused from now on' : `is valid until ${localTime(replaces.validUntil)}`;
      return `${text}\n\nThis is the only time the key is shown. Its id is ${id}. ${oldId} ${end}.`;
    },
  },
  'revoke <key>': { about: 'revoke a key; it is refused at once', sends: 'DELETE /keys/:key', done: 'revoked' },
});

/** Reads a list that must not be empty. */
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

function limitsOf(given: Given): object {
  return { ...ownerLimitsOf(given), ...rateLimitsOf(given), allowedNetworks: orNull(given.networks) };
}

function describeOwner({ userId, formerUserName }: KeyResponse): string {
  return [userId ?? '', formerUserName === null ? '' : `(was ${formerUserName}’s)`].filter(Boolean).join(' ');
}
