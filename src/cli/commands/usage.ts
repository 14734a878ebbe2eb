import type { AdminClient } from '../../api/management/admin-client.ts';
import { csvOf } from '../../api/management/list-csv.ts';
import type { UsageResponse } from '../../api/usage/admin.ts';
import { MEMBERS, usageColumns } from '../../api/usage/columns.ts';
import { marginBasisPoints } from '../../api/usage/margin-share.ts';
import type { UsageRowResponse } from '../../api/usage/wire.ts';
import { formatYuan, parseYuan } from '../../lib/yuan.ts';
import { inputTokensOf, noUsage, outputTokensOf } from '../../protocols/metering/usage-facts.ts';
import { shownUnits } from '../../protocols/metering/usage-units.ts';
import { UsageError } from '../command.ts';
import type { CommandRows, Given } from '../command-rows.ts';
import { localTime } from '../local-time.ts';
import { pages, queryOf } from '../pages.ts';
import { type Column, columnsOf, renderTable } from '../table.ts';

/** Members of a row that identify its group in a table. */
const GROUPS = { ...MEMBERS, account: 'accountName', key: 'keyName' } as const;
type Group = keyof typeof GROUPS;
const groupNames = Object.keys(GROUPS) as readonly Group[];

/** Maximum number of groups for a table or JSON, which are kept in memory. CSV has no limit. */
const GROUPS_MAX = 100_000;

export const usageCommands: CommandRows = {
  usage: {
    about: 'sum usage, charges and the cost at providers',
    with: {
      '--group-by <names>': {
        text: `one or several of ${groupNames.join(', ')}, separated by commas`,
        default: 'model',
      },
      '--from <day>': 'the first day, such as 2026-10-01, in the billing time zone',
      '--to <day>': 'the day after the last day',
      '--account <account>': 'only this account (id or name)',
      '--key <id>': 'only the key with this id',
      '--model <model>': 'only this model',
      '--provider <provider>': 'only this provider',
      '--status <status>': {
        text: 'only calls with this status',
        choices: ['succeeded', 'failed', 'aborted', 'unresolved', 'resolved'],
      },
      '--context <context>': {
        text: 'only calls of this context; coding: on a Coding Plan',
        choices: ['balance', 'coding'],
      },
      '--top <count>': 'only this many groups, the highest charges first',
      '--csv': 'print CSV, every group, unsorted',
    },
    async reads(admin, output, given, { writeOut }) {
      const groupBy = readGroups(String(given.groupBy));
      const filters = ['accountId', 'keyId', 'from', 'to', 'model', 'provider', 'status', 'context'];
      const query = { ...queryOf({ ...given, keyId: given.key }, filters), groupBy: groupBy.join(',') };
      if (given.csv === true) return printCsv(admin, query, groupBy, writeOut);
      const list = await listGroups(admin, query, readTop(given));
      output.print(list, () => describe(list, groupBy));
      return 0;
    },
  },
};

/** Reads names of groups. @throws UsageError if one is unknown */
function readGroups(text: string): readonly Group[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !(groupNames as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw new UsageError(`--group-by: Unknown name "${unknown}". Known names: ${groupNames.join(', ')}.`);
  const named = new Set<string>(names.includes('key') ? [...names, 'account'] : names);
  return groupNames.filter((name) => named.has(name));
}

function readTop({ top }: Given): number | null {
  if (top === undefined) return null;
  if (!/^[1-9]\d{0,4}$/.test(String(top))) throw new UsageError('--top: Expected a whole number from 1 to 99999.');
  return Number(top);
}

type Groups = Omit<UsageResponse, 'nextCursor'>;

/** Returns all groups or, with `top`, that many with the highest charges. With `top`, only these and one page are in memory. */
async function listGroups(admin: AdminClient, query: Record<string, string>, top: number | null): Promise<Groups> {
  let data: UsageRowResponse[] = [];
  let first: UsageResponse | null = null;
  for await (const page of pages<UsageResponse>(admin, '/usage', query)) {
    first ??= page;
    data.push(...page.data);
    if (top !== null) data = data.sort(byCharge).slice(0, top);
    if (data.length > GROUPS_MAX) {
      throw new UsageError(`There are more than ${GROUPS_MAX} groups. Use --csv, --top, or fewer names in --group-by.`);
    }
  }
  return { data, completeUntil: first!.completeUntil, timezone: first!.timezone };
}

function byCharge(left: UsageRowResponse, right: UsageRowResponse): number {
  const difference = nanoOf(right.netChargeYuan) - nanoOf(left.netChargeYuan);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

const nanoOf = (yuan: string): bigint => parseYuan(yuan) ?? 0n;

function describe({ data, completeUntil, timezone }: Groups, groupBy: readonly Group[]): string {
  // A call with several tags is in several groups.
  const total = data.length > 1 && !groupBy.includes('tag') ? [totalsOf(data)] : [];
  const groupColumns = groupBy.map(
    (title, index): Column<UsageRowResponse> => ({
      title,
      cell: (row) => (row === total[0] ? (index === 0 ? 'all' : '') : (labelOf(row, title) ?? '')),
    }),
  );
  const table = renderTable([...data, ...total], 'No calls.', [...groupColumns, ...AMOUNT_COLUMNS]);
  const isPartlyCosted = data.some(({ callsWithoutCost }) => callsWithoutCost > 0);
  const until =
    completeUntil === null ? 'records are still being summed' : `complete until ${localTime(completeUntil)}`;
  return `${table}\n\n${isPartlyCosted ? PARTLY_COSTED : ''}Days are in the time zone ${timezone}; ${until}.`;
}

const PARTLY_COSTED =
  'The cost of some calls is unknown. "34.5% of ¥80" is the margin of the net charges whose costs are known.\n';

function labelOf(row: UsageRowResponse, name: Group): string | null | undefined {
  if (name === 'account') return row.accountName ?? row.accountId;
  if (name === 'key') return row.keyName ?? row.keyId;
  const label = row[GROUPS[name]];
  return label === null && name !== 'group' ? '(other)' : label;
}

export const AMOUNT_COLUMNS: readonly Column<UsageRowResponse>[] = [
  ...columnsOf<UsageRowResponse>('calls'),
  { title: 'input', cell: (row) => String(inputTokensOf({ ...noUsage, ...row.usage })) },
  { title: 'output', cell: (row) => String(outputTokensOf({ ...noUsage, ...row.usage })) },
  { title: 'images', cell: (row) => String(row.usage.images ?? 0) },
  ...columnsOf<UsageRowResponse>('chargeYuan', 'refundYuan'),
  { title: 'plans ¥', cell: (row) => row.planRevenueYuan ?? '-' },
  { title: 'cost ¥', cell: costOf },
  { title: 'margin ¥', cell: (row) => row.marginYuan ?? '-' },
  { title: 'margin', cell: ({ marginBasisPoints: share }) => percentOf(share) },
  { title: 'of balance ¥', cell: (row) => row.balanceMarginYuan ?? '-' },
  { title: 'of balance', cell: balanceShareOf },
  { title: 'of plans ¥', cell: (row) => row.planMarginYuan ?? '-' },
  { title: 'of plans', cell: ({ planMarginBasisPoints: share }) => percentOf(share) },
];

/** Shares below 10 % have two decimals, so that small ones differ. */
const percentOf = (share: number | null): string =>
  share === null ? '-' : `${(share / 100).toFixed(Math.abs(share) < 1_000 ? 2 : 1)}%`;

/** If the cost of some calls is unknown, the share and the part of the net charge that it applies to. */
function balanceShareOf(row: UsageRowResponse): string {
  const { balanceMarginYuan, balanceMarginBasisPoints, costedMarginBasisPoints, costedNetChargeYuan } = row;
  if (balanceMarginYuan !== null || costedMarginBasisPoints === null) return percentOf(balanceMarginBasisPoints);
  return `${percentOf(costedMarginBasisPoints)} of ¥${costedNetChargeYuan}`;
}

/** Formats the cost, with `>` in front if the cost of some calls is unknown. */
function costOf({ costYuan, callsWithoutCost }: UsageRowResponse): string {
  if (callsWithoutCost === 0) return costYuan;
  return costYuan === '0' ? '-' : `>${costYuan}`;
}

function totalsOf(rows: readonly UsageRowResponse[]): UsageRowResponse {
  const total: Record<string, unknown> = {};
  for (const member of Object.keys(rows[0]!) as (keyof UsageRowResponse)[]) {
    const values = rows.map((row) => row[member]);
    if (member.startsWith('calls')) total[member] = values.reduce<number>((sum, value) => sum + Number(value), 0);
    // If one amount is unknown, the total is, too.
    else if (member.endsWith('Yuan')) total[member] = values.includes(null) ? null : sumOf(values.map(String));
  }
  const usage: Record<string, number> = { images: 0 };
  for (const [unit, count] of rows.flatMap((row) => Object.entries(row.usage)))
    usage[unit] = (usage[unit] ?? 0) + count;
  return { ...total, ...sharesOf(total as AmountsOfRow), usage } as UsageRowResponse;
}

type AmountsOfRow = { readonly [Name in keyof UsageRowResponse & `${string}Yuan`]: UsageRowResponse[Name] };

/** Shares of sums, which cannot be added up. */
function sharesOf(sums: AmountsOfRow) {
  const { netChargeYuan, planRevenueYuan, marginYuan, balanceMarginYuan, planMarginYuan } = sums;
  const [net, revenue] = [nanoOf(netChargeYuan), planRevenueYuan === null ? 0n : nanoOf(planRevenueYuan)];
  const shareOf = (margin: string | null, of: bigint) => marginBasisPoints(margin === null ? null : nanoOf(margin), of);
  return {
    marginBasisPoints: shareOf(marginYuan, net + revenue),
    balanceMarginBasisPoints: shareOf(balanceMarginYuan, net),
    planMarginBasisPoints: shareOf(planMarginYuan, revenue),
    costedMarginBasisPoints: shareOf(sums.costedMarginYuan, nanoOf(sums.costedNetChargeYuan)),
  };
}

const sumOf = (amounts: readonly string[]): string => formatYuan(amounts.reduce((sum, yuan) => sum + nanoOf(yuan), 0n));

/** Prints the same CSV as the admin API, page by page. */
async function printCsv(
  admin: AdminClient,
  query: Record<string, string>,
  groupBy: readonly Group[],
  write: (text: string) => void,
): Promise<number> {
  let table: ReturnType<typeof csvOf> | null = null;
  for await (const { data } of pages<UsageResponse>(admin, '/usage', query)) {
    if (table === null) {
      const units = data[0] === undefined ? [...shownUnits, 'images'] : Object.keys(data[0].usage);
      table = csvOf(usageColumns(groupBy, units));
      write(table.titles);
    }
    for (const row of data) write(table.lineOf(row));
  }
  return 0;
}
