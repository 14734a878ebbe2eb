import { InvalidArgumentError } from 'commander';
import type { PostedEntry } from '../../api/ledger/admin.ts';
import type { Page } from '../../api/management/response-fields.ts';
import type { AccountResponse, LedgerEntryResponse } from '../../api/management/wire.ts';
import { IDEMPOTENCY_KEY, UsageError } from '../command.ts';
import { type Given, group } from '../command-rows.ts';
import { accountImport } from '../import/account-import.ts';
import { localTime } from '../local-time.ts';
import { columnsOf, fieldsOf, renderFields, renderTable } from '../table.ts';
import { budgetCommands } from './account-budget.ts';
import { memberCommands } from './account-member.ts';
import { describeBuyer } from './invoice.ts';
import { describeRateLimits, NONE, orNull, RATE_OPTIONS, rateLimitsOf, readList } from './limit-options.ts';

const NAME = { '<name>': 'the name of the account' };
const REASON = { '--reason <text>': 'reason, shown by `account show`' };
const MEMO = 'reason, kept in the ledger entry';
const REFERENCE = 'what identifies the payment, such as the number of a bank transfer; shown to the account';

const SUSPEND_HELP = `
Every node refuses new calls of the account within a second, with 401 invalid_api_key and a message that gives the reason. Keys of
the account can no longer read its balance and plan. Calls in flight are completed and charged. The daily cap, the keys and the
subscriptions stay as they are; subscriptions keep running.`;

const change = (body: readonly string[] | ((given: Given) => object)) =>
  ({ sends: 'PATCH /accounts/:accountId', body, text: describeAccount }) as const;

const post = (entries: 'top-ups' | 'adjustments', text: (yuan: unknown) => string) =>
  ({
    sends: `POST /accounts/:accountId/${entries}`,
    body: ['amountYuan: yuan', 'memo', ...(entries === 'top-ups' ? ['reference'] : [])],
    text: ({ balanceYuan }: PostedEntry, { yuan }: Given) => `${text(yuan)} The balance is ¥${balanceYuan}.`,
  }) as const;

export const accountCommands = group('account', 'create, import, list, fund and suspend accounts', {
  'create <name>': {
    about: 'create an account',
    with: {
      ...NAME,
      '--email <address>': 'the e-mail address of a contact',
      '--verified': 'verify the account, so that it can call models at once',
      '--balance <yuan>': 'top up the account with this amount',
      '--daily-cap <yuan>': 'maximum spend of the account per day (default: as configured)',
      '--group <group>': 'the group of the account (default: none)',
      ...IDEMPOTENCY_KEY,
    },
    sends: 'POST /accounts',
    body: ['name', 'email', 'verified', 'dailySpendCapYuan: dailyCap', 'balanceYuan: balance', 'groupId: group'],
    text: describeAccount,
  },
  list: {
    about: 'list accounts, newest first',
    with: {
      '--search <text>': 'only accounts whose name, e-mail or id contains this text',
      '--group <group>': 'only accounts of this group',
    },
    lists: '/accounts',
    filters: ['search', 'group'],
    empty: 'There are no accounts yet. Create one: faregate account create <name> --verified --balance 10',
    columns: [
      ...columnsOf<AccountResponse>('id', 'name'),
      { title: 'status', cell: (row: AccountResponse) => (row.verified ? row.status : 'unverified') },
      ...columnsOf<AccountResponse>('balanceYuan', 'heldYuan', 'today ¥: spentTodayYuan'),
    ],
  },
  'show <account>': {
    about: 'show an account and its newest ledger entries',
    async reads(admin, output, { accountId }) {
      const view = await admin.request<AccountResponse>('GET', `/accounts/${accountId}`);
      const { data } = await admin.request<Page<LedgerEntryResponse>>('GET', `/accounts/${accountId}/ledger?limit=10`);
      output.print({ ...view, ledger: data }, () => `${describeAccount(view)}\n\n${describeLedger(data)}`);
    },
  },
  'rename <account> <name>': {
    about: 'rename an account; its id stays the same',
    with: NAME,
    ...change(['name']),
  },
  'verify <account>': {
    about: 'let an account call models',
    with: { '--revoke': 'revoke the verification' },
    ...change(({ revoke }) => ({ verified: revoke !== true })),
  },
  'limit <account>': {
    about: 'set limits for an account; "none" removes a limit, so that the configuration applies again',
    with: { '--daily-cap <yuan>': 'maximum spend of the account per day', ...RATE_OPTIONS },
    ...change((given) => ({ dailySpendCapYuan: orNull(given.dailyCap), ...rateLimitsOf(given) })),
  },
  'suspend <account>': {
    about: 'refuse the calls of an account from now on; its keys, money and plans stay',
    with: REASON,
    help: SUSPEND_HELP,
    ...change(({ reason }) => ({ status: 'suspended', statusReason: reason })),
  },
  'resume <account>': {
    about: 'accept the calls of a suspended account again',
    with: REASON,
    ...change(({ reason }) => ({ status: 'active', statusReason: reason })),
  },
  'set <account>': {
    about: 'change the group, the models, the price factor or the privacy of an account',
    with: {
      '--group <group>': 'the group of the account, or "none"',
      '--models <names>': {
        text: 'the models that it may use, separated by commas, or "none" for no limit',
        parse: readList,
      },
      '--price-factor <factor>': {
        text: 'the share of the list price that it pays: basis points such as 8000, or a percentage such as 80%',
        parse: readPriceFactor,
      },
      '--members-see-balance <yes|no>': {
        text: 'whether keys of members can read its balance; with "no" they read the rest of their own budgets',
        parse: readYesOrNo,
      },
      '--record <facts>': {
        text: 'what its calls record of their callers: address, program and end-user, separated by commas, or "none"',
        parse: readRecording,
      },
    },
    ...change(
      ({ group: groupId, models, priceFactor: priceFactorBasisPoints, membersSeeBalance, record: recording }) => {
        const changed = {
          groupId: orNull(groupId),
          allowedModels: orNull(models),
          priceFactorBasisPoints,
          membersSeeBalance,
          recording,
        };
        if (Object.values(changed).every((value) => value === undefined)) {
          throw new UsageError(
            'Specify what to change: --group, --models, --price-factor, --members-see-balance or --record.',
          );
        }
        return changed;
      },
    ),
  },
  'top-up <account> <yuan>': {
    about: 'add money to the balance of an account',
    with: {
      '<yuan>': 'amount in yuan, such as 50 or 12.50',
      '--memo <text>': MEMO,
      '--reference <text>': REFERENCE,
      ...IDEMPOTENCY_KEY,
    },
    ...post('top-ups', (yuan) => `Added ¥${yuan}.`),
  },
  'adjust <account> <yuan>': {
    about: 'correct the balance of an account, up or down',
    with: {
      '<yuan>': 'amount in yuan, such as 2.50 or -2.50',
      '--memo <text>': { text: MEMO, isRequired: true },
      ...IDEMPOTENCY_KEY,
    },
    ...post('adjustments', (yuan) => `Corrected by ${yuan} yuan.`),
  },
  ...accountImport,
  ...memberCommands,
  ...budgetCommands,
});

function describeStatus({ id, status, statusReason, statusChangedAt }: AccountResponse): string {
  const since = statusChangedAt === null ? '' : ` since ${localTime(statusChangedAt)}`;
  const why = statusReason === null ? '' : `: ${statusReason}`;
  return `${status}${since}${why}${status === 'suspended' ? ` (faregate account resume ${id})` : ''}`;
}

function describeAccount(view: AccountResponse): string {
  return renderFields([
    ...fieldsOf(view, 'id', 'name', 'e-mail: email'),
    ['verified', view.verified ? 'yes' : `no (faregate account verify ${view.id})`],
    ['status', describeStatus(view)],
    ...fieldsOf(view, 'balanceYuan', 'heldYuan', 'spentTodayYuan'),
    ['daily cap', view.dailySpendCapYuan === null ? 'as configured' : `¥${view.dailySpendCapYuan}`],
    ['own cap', view.ownDailySpendCapYuan === null ? 'none' : `¥${view.ownDailySpendCapYuan} a day`],
    ['price factor', `${view.priceFactorBasisPoints} (${view.priceFactorBasisPoints / 100}% of the list price)`],
    ['group', view.groupId ?? 'none'],
    ['models', view.allowedModels?.join(', ') ?? 'all'],
    ['members', view.membersSeeBalance ? 'see the balance' : 'do not see the balance'],
    ['recorded', describeRecording(view.recording)],
    ['buyer', view.buyer === null ? 'not entered' : describeBuyer(view.buyer)],
    ['limits', describeRateLimits(view).join(', ') || 'as configured'],
    ...fieldsOf(view, 'createdAt'),
  ]);
}

function describeLedger(entries: readonly LedgerEntryResponse[]): string {
  return renderTable(entries, 'The ledger is empty.', [
    ...columnsOf<LedgerEntryResponse>('when: createdAt', 'kind', 'amountYuan', 'balance ¥: balanceAfterYuan'),
    { title: 'for', cell: (row) => row.callId ?? row.memo ?? '' },
    ...columnsOf<LedgerEntryResponse>('reference'),
  ]);
}

function readYesOrNo(text: string): boolean {
  if (text !== 'yes' && text !== 'no') throw new InvalidArgumentError('Expected "yes" or "no".');
  return text === 'yes';
}

const RECORDED = { address: 'clientAddress', program: 'program', 'end-user': 'endUser' } as const;

/** Reads which facts about callers are recorded; all others are not. */
function readRecording(text: string): AccountResponse['recording'] {
  const names = text === NONE ? [] : text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !Object.hasOwn(RECORDED, name));
  if (unknown !== undefined) throw new InvalidArgumentError(`Expected ${Object.keys(RECORDED).join(', ')} or "none".`);
  return {
    clientAddress: names.includes('address'),
    program: names.includes('program'),
    endUser: names.includes('end-user'),
  };
}

function describeRecording(recording: AccountResponse['recording']): string {
  const names = Object.entries(RECORDED).flatMap(([name, fact]) => (recording[fact] ? [name] : []));
  return names.join(', ') || 'as configured';
}

/** Reads a price factor. @returns basis points */
function readPriceFactor(text: string): number {
  const [, whole, hundredths = '', percent] = /^(\d{1,6})(?:\.(\d{1,2})(?=%))?(%?)$/.exec(text) ?? [];
  if (whole === undefined) {
    throw new InvalidArgumentError('Expected basis points such as 8000, or a percentage such as 80% or 87.5%.');
  }
  return percent === '' ? Number(whole) : Number(whole) * 100 + Number(hundredths.padEnd(2, '0'));
}
