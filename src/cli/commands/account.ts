import { type Command, InvalidArgumentError } from 'commander';
import type { PostedEntry } from '../../api/ledger/admin.ts';
import type { Page } from '../../api/management/response-fields.ts';
import type { AccountResponse, LedgerEntryResponse } from '../../api/management/wire.ts';
import { IDEMPOTENCY_KEY, UsageError } from '../command.ts';
import { accountImportCommand } from '../import/account-import.ts';
import { addCommand, type CommandKit, type Given } from '../kit.ts';
import { localTime } from '../local-time.ts';
import { columnsOf, fieldsOf, renderFields, renderTable } from '../table.ts';
import { accountMemberCommands } from './account-member.ts';
import { addRateOptions, describeRateLimits, orNull, rateLimitsOf, readList } from './limit-options.ts';

const NAME = { name: 'the name of the account' };
const REASON = ['--reason <text>', 'reason, shown by `account show`'] as const;
const MEMO = ['--memo <text>', 'reason, kept in the ledger entry'] as const;

export function accountCommands(program: Command, kit: CommandKit): void {
  const account = program.command('account').description('create, import, list, fund and suspend accounts');
  const changes = (body: (given: Given) => object) =>
    kit.sends<AccountResponse>('PATCH /accounts/:accountId', { body, text: describeAccount });

  addCommand(account, 'create <name>', 'create an account', NAME)
    .option('--email <address>', 'the e-mail address of a contact')
    .option('--verified', 'verify the account, so that it can call models at once')
    .option('--balance <yuan>', 'top up the account with this amount')
    .option('--daily-cap <yuan>', 'maximum spend of the account per day (default: as configured)')
    .option(...IDEMPOTENCY_KEY)
    .action(
      kit.sends<AccountResponse>('POST /accounts', {
        body: ({ name, email, verified = false, dailyCap, balance }) => ({
          name,
          email,
          verified,
          dailySpendCapYuan: dailyCap,
          balanceYuan: balance,
        }),
        text: describeAccount,
      }),
    );

  addCommand(account, 'list', 'list accounts, newest first')
    .option('--search <text>', 'only accounts whose name, e-mail or id contains this text')
    .option('--group <group>', 'only accounts of this group')
    .action(
      kit.lists<AccountResponse>('/accounts', {
        filters: ['search', 'group'],
        empty: 'There are no accounts yet. Create one: faregate account create <name> --verified --balance 10',
        columns: [
          ...columnsOf<AccountResponse>('id', 'name'),
          { title: 'status', cell: (row) => (row.verified ? row.status : 'unverified') },
          ...columnsOf<AccountResponse>('balanceYuan', 'heldYuan'),
          { title: 'today ¥', cell: (row) => row.spentTodayYuan },
        ],
      }),
    );

  addCommand(account, 'show <account>', 'show an account and its newest ledger entries').action(
    kit.reading(async (admin, output, { accountId }) => {
      const view = await admin.request<AccountResponse>('GET', `/accounts/${accountId}`);
      const { data } = await admin.request<Page<LedgerEntryResponse>>('GET', `/accounts/${accountId}/ledger?limit=10`);
      output.print({ ...view, ledger: data }, () => `${describeAccount(view)}\n\n${describeLedger(data)}`);
    }),
  );

  addCommand(account, 'rename <account> <name>', 'rename an account; its id stays the same', NAME).action(
    changes(({ name }) => ({ name })),
  );

  addCommand(account, 'verify <account>', 'let an account call models')
    .option('--revoke', 'revoke the verification')
    .action(changes(({ revoke }) => ({ verified: revoke !== true })));

  addRateOptions(
    addCommand(
      account,
      'limit <account>',
      'set limits for an account; "none" removes a limit, so that the configuration applies again',
    ).option('--daily-cap <yuan>', 'maximum spend of the account per day'),
  ).action(changes((given) => ({ dailySpendCapYuan: orNull(given.dailyCap), ...rateLimitsOf(given) })));

  addCommand(account, 'suspend <account>', 'refuse the calls of an account from now on; its keys, money and plans stay')
    .option(...REASON)
    .addHelpText('after', SUSPEND_HELP)
    .action(changes(({ reason }) => ({ status: 'suspended', statusReason: reason })));

  addCommand(account, 'resume <account>', 'accept the calls of a suspended account again')
    .option(...REASON)
    .action(changes(({ reason }) => ({ status: 'active', statusReason: reason })));

  addCommand(
    account,
    'set <account>',
    'change the group of an account, what it pays and may use from now on, or what its members see',
  )
    .option('--group <group>', 'the group of the account, or "none"')
    .option('--models <names>', 'the models that it may use, separated by commas, or "none" for no limit', readList)
    .option(
      '--price-factor <factor>',
      'the share of the list price that it pays: basis points such as 8000, or a percentage such as 80%',
      readPriceFactor,
    )
    .option(
      '--members-see-balance <yes|no>',
      'whether keys of members can read its balance; with "no" they read the rest of their own budgets',
      readYesOrNo,
    )
    .action(
      changes(({ group, models, priceFactor: priceFactorBasisPoints, membersSeeBalance }) => {
        const change = {
          groupId: orNull(group),
          allowedModels: orNull(models),
          priceFactorBasisPoints,
          membersSeeBalance,
        };
        if (Object.values(change).every((value) => value === undefined)) {
          throw new UsageError('Specify what to change: --group, --models, --price-factor or --members-see-balance.');
        }
        return change;
      }),
    );

  const posts = (entries: 'top-ups' | 'adjustments', text: (yuan: unknown) => string) =>
    kit.sends<PostedEntry>(`POST /accounts/:accountId/${entries}`, {
      body: ({ yuan, memo }) => ({ amountYuan: yuan, memo }),
      text: ({ balanceYuan }, { yuan }) => `${text(yuan)} The balance is ¥${balanceYuan}.`,
    });

  addCommand(account, 'top-up <account> <yuan>', 'add money to the balance of an account', {
    yuan: 'amount in yuan, such as 50 or 12.50',
  })
    .option(...MEMO)
    .option(...IDEMPOTENCY_KEY)
    .action(posts('top-ups', (yuan) => `Added ¥${yuan}.`));

  addCommand(account, 'adjust <account> <yuan>', 'correct the balance of an account, up or down', {
    yuan: 'amount in yuan, such as 2.50 or -2.50',
  })
    .requiredOption(...MEMO)
    .option(...IDEMPOTENCY_KEY)
    .action(posts('adjustments', (yuan) => `Corrected by ${yuan} yuan.`));

  accountImportCommand(account, kit);
  accountMemberCommands(account, kit);
}

const SUSPEND_HELP = `
Every node refuses new calls of the account within a second, with 401 invalid_api_key and a message that gives the reason. Keys of
the account can no longer read its balance and plan. Calls in flight are completed and charged. The daily cap, the keys and the
subscriptions stay as they are; subscriptions keep running.`;

function describeStatus({ id, status, statusReason, statusChangedAt }: AccountResponse): string {
  const since = statusChangedAt === null ? '' : ` since ${localTime(statusChangedAt)}`;
  const why = statusReason === null ? '' : `: ${statusReason}`;
  return `${status}${since}${why}${status === 'suspended' ? ` (faregate account resume ${id})` : ''}`;
}

function describeAccount(view: AccountResponse): string {
  return renderFields([
    ...fieldsOf(view, 'id', 'name'),
    ['e-mail', view.email ?? '-'],
    ['verified', view.verified ? 'yes' : `no (faregate account verify ${view.id})`],
    ['status', describeStatus(view)],
    ...fieldsOf(view, 'balanceYuan', 'heldYuan', 'spentTodayYuan'),
    ['daily cap', view.dailySpendCapYuan === null ? 'as configured' : `¥${view.dailySpendCapYuan}`],
    ['own cap', view.ownDailySpendCapYuan === null ? 'none' : `¥${view.ownDailySpendCapYuan} a day`],
    ['price factor', `${view.priceFactorBasisPoints} (${view.priceFactorBasisPoints / 100}% of the list price)`],
    ['group', view.groupId ?? 'none'],
    ['models', view.allowedModels?.join(', ') ?? 'all'],
    ['members', view.membersSeeBalance ? 'see the balance' : 'do not see the balance'],
    ['limits', describeRateLimits(view).join(', ') || 'as configured'],
    ...fieldsOf(view, 'createdAt'),
  ]);
}

function describeLedger(entries: readonly LedgerEntryResponse[]): string {
  return renderTable(entries, 'The ledger is empty.', [
    { title: 'when', cell: (row) => localTime(row.createdAt) },
    ...columnsOf<LedgerEntryResponse>('kind', 'amountYuan'),
    { title: 'balance ¥', cell: (row) => row.balanceAfterYuan },
    { title: 'for', cell: (row) => row.callId ?? row.memo ?? '' },
  ]);
}

function readYesOrNo(text: string): boolean {
  if (text !== 'yes' && text !== 'no') throw new InvalidArgumentError('Expected "yes" or "no".');
  return text === 'yes';
}

/** @returns basis points */
function readPriceFactor(text: string): number {
  const [, whole, hundredths = '', percent] = /^(\d{1,6})(?:\.(\d{1,2})(?=%))?(%?)$/.exec(text) ?? [];
  if (whole === undefined) {
    throw new InvalidArgumentError('Expected basis points such as 8000, or a percentage such as 80% or 87.5%.');
  }
  return percent === '' ? Number(whole) : Number(whole) * 100 + Number(hundredths.padEnd(2, '0'));
}
