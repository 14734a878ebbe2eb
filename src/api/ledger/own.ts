import type { AccountStore } from '../../accounting/accounts/store.ts';
import type { LedgerStore } from '../../accounting/ledger/ledger-store.ts';
import type { Dimension } from '../../accounting/usage/group-sums-store.ts';
import { LineStream } from '../management/endpoint.ts';
import { CSV_TYPE, LIST_LINES, listOrCsv } from '../management/list-csv.ts';
import { type AccountEndpoint, accountEndpoint } from '../management/own-endpoint.ts';
import { listOf, pageOf } from '../management/response-fields.ts';
import { shown, shownPage } from '../management/shown.ts';
import { ledgerEntryResponse } from '../management/wire.ts';
import { statementQuery, type UsageAdminDependencies, usageList, usageReader, usageResponse } from '../usage/admin.ts';
import { statementCsv } from '../usage/statement-csv.ts';
import { statementResponse } from '../usage/statement-wire.ts';
import { readDimensions, usageRowResponse } from '../usage/wire.ts';
import { ledgerList, listLedger } from './admin.ts';
import { readReceipt, receiptResponse } from './receipt.ts';

type OwnMoneyDependencies = UsageAdminDependencies & {
  readonly ledger: Pick<LedgerStore, 'listEntries' | 'findEntries'>;
  readonly accounts: Pick<AccountStore, 'findAccount' | 'findOwnKeyIds'>;
};

/** What accounts can group usage by; not by provider. */
const OWN_DIMENSIONS: readonly Dimension[] = [
  'key',
  'month',
  'day',
  'model',
  'status',
  'context',
  'endUser',
  'program',
  'tag',
];

/** A row of usage without providers, costs and margins, which accounts do not see. */
const ownUsageRow = usageRowResponse
  .pick({
    accountId: true,
    accountName: true,
    keyId: true,
    keyName: true,
    keyPrefix: true,
    month: true,
    day: true,
    model: true,
    endUser: true,
    program: true,
    tag: true,
    status: true,
    context: true,
    calls: true,
    chargeYuan: true,
    refundYuan: true,
    netChargeYuan: true,
    heldYuan: true,
    usage: true,
  })
  .meta({ id: 'OwnUsageGroup' });

const ownUsage = usageResponse.extend({ data: listOf(ownUsageRow) });

const isOwnColumn = (member: string): boolean => member.split('.')[0]! in ownUsageRow.shape;

/** A ledger entry without its memo, which is only for operators. */
const ownEntry = ledgerEntryResponse
  .pick({
    id: true,
    kind: true,
    amountYuan: true,
    balanceAfterYuan: true,
    callId: true,
    reference: true,
    createdAt: true,
  })
  .meta({ id: 'OwnLedgerEntry' });
const ownStatementEntry = ownEntry.omit({ balanceAfterYuan: true });

const ownStatementMembers = statementResponse.pick({
  accountId: true,
  accountName: true,
  seller: true,
  buyer: true,
  month: true,
  timezone: true,
  from: true,
  to: true,
  isOver: true,
  openingYuan: true,
  closingYuan: true,
  kinds: true,
  areEntriesCut: true,
  completeUntil: true,
});
const ownStatement = ownStatementMembers
  .extend({ entries: listOf(ownStatementEntry), models: listOf(ownUsageRow) })
  .meta({ id: 'OwnStatement' });

export function ownMoneyEndpoints(dependencies: OwnMoneyDependencies): AccountEndpoint[] {
  const { ledger, accounts } = dependencies;
  const { queryOf, list, csv, statement } = usageReader(dependencies);

  return [
    accountEndpoint({
      method: 'GET',
      path: '/usage',
      summary:
        'Sums of usage by day, month, model, key, status, context, end user, program or tag; members see their own keys; also as CSV',
      needs: 'member',
      query: usageList.omit({ accountId: true, provider: true }),
      response: ownUsage,
      lines: { mediaType: 'text/csv', description: 'All groups as CSV, if the request accepts text/csv.' },
      async run(
        { query: { groupBy: names, cursor, limit, ...filter }, wantsCsv },
        { scope: { accountId, ownUserId } },
      ) {
        const ownKeyIds = ownUserId === null ? null : await accounts.findOwnKeyIds(accountId, ownUserId);
        const query = queryOf(readDimensions(names, OWN_DIMENSIONS), { ...filter, accountId, ownKeyIds });
        if (wantsCsv) return new LineStream(csv(query, isOwnColumn), CSV_TYPE);
        return shownPage(ownUsageRow, await list(query, { cursor, limit }));
      },
    }),
    accountEndpoint({
      method: 'GET',
      path: '/ledger',
      summary: 'List the ledger entries of the account, newest first; also as CSV',
      needs: 'owner',
      query: ledgerList,
      response: pageOf(ownEntry),
      lines: LIST_LINES,
      async run({ query, wantsCsv }, { scope: { accountId } }) {
        return listOrCsv(wantsCsv, Object.keys(ownEntry.shape), query, async (asked) =>
          shownPage(ownEntry, await listLedger(ledger, accountId, asked)),
        );
      },
    }),
    accountEndpoint({
      method: 'GET',
      path: '/receipts/:id',
      summary: 'Read the receipt of a top-up, by the id of its ledger entry',
      needs: 'owner',
      response: receiptResponse,
      run: ({ id }, { scope }) => readReceipt(dependencies, id, scope.accountId),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/statement',
      summary: 'Read the account’s statement for a month in the billing time zone; also as CSV',
      needs: 'owner',
      query: statementQuery,
      response: ownStatement,
      lines: { mediaType: 'text/csv', description: 'The same data as CSV, if the request accepts text/csv.' },
      async run({ query: { month }, wantsCsv }, { scope }) {
        const made = await statement(scope.accountId, month);
        const entries = made.entries.map((entry) => ({ ...entry, memo: null }));
        if (wantsCsv) return LineStream.of(statementCsv({ ...made, entries }), CSV_TYPE);
        return {
          ...shown(ownStatementMembers, made),
          entries: entries.map((entry) => shown(ownStatementEntry, entry)),
          models: made.models.map((row) => shown(ownUsageRow, row)),
        };
      },
    }),
  ];
}
