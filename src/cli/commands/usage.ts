import type { Command } from 'commander';
import type { AdminClient } from '../../api/management/admin-client.ts';
import { csvOf } from '../../api/management/list-csv.ts';
import type { UsageResponse } from '../../api/usage/admin.ts';
import { MEMBERS, usageColumns } from '../../api/usage/columns.ts';
import type { UsageRowResponse } from '../../api/usage/wire.ts';
import { formatYuan, parseYuan } from '../../lib/yuan.ts';
import { inputTokensOf, noUsage, outputTokensOf } from '../../protocols/metering/usage-facts.ts';
import { shownUnits } from '../../protocols/metering/usage-units.ts';
import { type CommandKit, type CommandOptions, UsageError } from '../command.ts';
import { localTime } from '../local-time.ts';
import { pages } from '../pages.ts';
import { queryOf } from '../query.ts';
import { type Column, renderTable } from '../table.ts';

/** What names a group in a table. */
const GROUPS = { ...MEMBERS, account: 'accountName', key: 'keyName' } as const;
type Group = keyof typeof GROUPS;
const groupNames = Object.keys(GROUPS) as readonly Group[];

/** Groups that are held in memory for a table or JSON. CSV has no limit. */
const GROUPS_MAX = 100_000;

/** `faregate usage` */
export function usageCommand(program: Command, kit: CommandKit): void {
  program
    .command('usage')
    .description('sum what was used, charged and paid to providers')
    .option('--group-by <names>', `one or several of ${groupNames.join(', ')}, with commas`, 'model')
    .option('--from <day>', 'the first day, such as 2026-10-01, in the billing time zone')
    .option('--to <day>', 'the first day that is not summed any more')
    .option('--account <account>', 'only this account (id or name)')
    .option('--key <id>', 'only the key with this id')
    .option('--model <model>', 'only this model')
    .option('--provider <provider>', 'only this provider')
    .option('--status <status>', 'only calls that are succeeded, failed, aborted, unresolved or resolved')
    .option('--context <context>', 'only calls on the balance, or coding: on a plan')
    .option('--top <count>', 'only so many groups, those with the highest charges first')
    .option('--csv', 'print CSV, every group as it comes')
    .action(
      kit.reading(async (admin, output, _arguments, options) => {
        const groupBy = readGroups(String(options.groupBy));
        const query = await queryOf(admin, options, ['from', 'to', 'model', 'provider', 'status', 'context']);
        query.groupBy = groupBy.join(',');
        if (options.key !== undefined) query.keyId = String(options.key);
        if (options.csv === true) {
          await printCsv(admin, query, groupBy, kit.process.writeOut);
          return;
        }
        const list = await readGroupsOf(admin, query, topOf(options));
        output.print(list, () => describe(list, groupBy));
      }),
    );
}

/** @throws UsageError if a name is not known. */
function readGroups(text: string): readonly Group[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !(groupNames as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw new UsageError(`--group-by: There is no "${unknown}". Known: ${groupNames.join(', ')}.`);
  const named = new Set<string>(names.includes('key') ? [...names, 'account'] : names);
  return groupNames.filter((name) => named.has(name));
}

function topOf({ top }: CommandOptions): number | null {
  if (top === undefined) return null;
  if (!/^[1-9]\d{0,4}$/.test(String(top))) throw new UsageError('--top: Expected a whole number from 1 to 99999.');
  return Number(top);
}

type Groups = Omit<UsageResponse, 'nextCursor'>;

/** All groups, or those with the highest charges: no more of them are held than are shown. */
async function readGroupsOf(admin: AdminClient, query: Record<string, string>, top: number | null): Promise<Groups> {
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
  const total = data.length > 1 ? [totalsOf(data)] : [];
  const groupColumns = groupBy.map(
    (title, index): Column<UsageRowResponse> => ({
      title,
      cell: (row) => (row === total[0] ? (index === 0 ? 'all' : '') : (labelOf(row, title) ?? '')),
    }),
  );
  const table = renderTable([...data, ...total], 'No calls.', [...groupColumns, ...AMOUNT_COLUMNS]);
  const until =
    completeUntil === null ? 'records are still being summed' : `complete until ${localTime(completeUntil)}`;
  return `${table}\n\nDays of ${timezone}; ${until}.`;
}

function labelOf(row: UsageRowResponse, name: Group): string | null | undefined {
  if (name === 'account') return row.accountName ?? row.accountId;
  if (name === 'key') return row.keyName ?? row.keyId;
  return row[GROUPS[name]];
}

export const AMOUNT_COLUMNS: readonly Column<UsageRowResponse>[] = [
  { title: 'calls', cell: (row) => String(row.calls), align: 'right' },
  { title: 'input', cell: (row) => String(inputTokensOf({ ...noUsage, ...row.usage })), align: 'right' },
  { title: 'output', cell: (row) => String(outputTokensOf({ ...noUsage, ...row.usage })), align: 'right' },
  { title: 'images', cell: (row) => String(row.usage.images ?? 0), align: 'right' },
  { title: 'charge ¥', cell: (row) => row.chargeYuan, align: 'right' },
  { title: 'refund ¥', cell: (row) => row.refundYuan, align: 'right' },
  { title: 'plans ¥', cell: (row) => row.planRevenueYuan ?? '-', align: 'right' },
  { title: 'cost ¥', cell: costOf, align: 'right' },
  { title: 'margin ¥', cell: (row) => row.marginYuan ?? '-', align: 'right' },
  { title: 'of balance ¥', cell: (row) => row.balanceMarginYuan ?? '-', align: 'right' },
  { title: 'of plans ¥', cell: (row) => row.planMarginYuan ?? '-', align: 'right' },
];

/** A cost that some calls lack is less than what was paid. */
function costOf({ costYuan, callsWithoutCost }: UsageRowResponse): string {
  if (callsWithoutCost === 0) return costYuan;
  return costYuan === '0' ? '-' : `>${costYuan}`;
}

/** The sum of all groups. */
function totalsOf(rows: readonly UsageRowResponse[]): UsageRowResponse {
  const yuan = (read: (row: UsageRowResponse) => string): string =>
    formatYuan(rows.reduce((sum, row) => sum + nanoOf(read(row)), 0n));
  const orNull = (read: (row: UsageRowResponse) => string | null): string | null =>
    rows.some((row) => read(row) === null) ? null : yuan((row) => read(row)!);
  const usage: Record<string, number> = { images: 0 };
  for (const row of rows) {
    for (const [unit, count] of Object.entries(row.usage)) usage[unit] = (usage[unit] ?? 0) + count;
  }
  return {
    calls: rows.reduce((sum, { calls }) => sum + calls, 0),
    chargeYuan: yuan((row) => row.chargeYuan),
    refundYuan: yuan((row) => row.refundYuan),
    netChargeYuan: yuan((row) => row.netChargeYuan),
    planRevenueYuan: orNull((row) => row.planRevenueYuan),
    costYuan: yuan((row) => row.costYuan),
    planCostYuan: yuan((row) => row.planCostYuan),
    marginYuan: orNull((row) => row.marginYuan),
    balanceMarginYuan: orNull((row) => row.balanceMarginYuan),
    planMarginYuan: orNull((row) => row.planMarginYuan),
    callsWithoutCost: rows.reduce((sum, { callsWithoutCost }) => sum + callsWithoutCost, 0),
    heldYuan: yuan((row) => row.heldYuan),
    usage,
  };
}

/** As the admin API writes CSV, page by page. */
async function printCsv(
  admin: AdminClient,
  query: Record<string, string>,
  groupBy: readonly Group[],
  write: (text: string) => void,
): Promise<void> {
  let table: ReturnType<typeof csvOf> | null = null;
  for await (const { data } of pages<UsageResponse>(admin, '/usage', query)) {
    if (table === null) {
      const units = data[0] === undefined ? [...shownUnits, 'images'] : Object.keys(data[0].usage);
      table = csvOf(usageColumns(groupBy, units));
      write(table.titles);
    }
    for (const row of data) write(table.lineOf(row));
  }
}
