import type { LatencyResponse, LatencyRow } from '../../api/latency/admin.ts';
import type { CommandRows } from '../command-rows.ts';
import { localTime } from '../local-time.ts';
import { queryOf } from '../pages.ts';
import { type Column, columnsOf, renderTable } from '../table.ts';

const GROUPS = ['hour', 'day', 'model', 'provider', 'providerModel'] as const;
const HOURS = { hour: 1, day: 24, week: 168, month: 720 } as const;

export const latencyCommands: CommandRows = {
  latency: {
    about: 'show how fast routes respond, how often they fail and how many tokens per second they generate',
    with: {
      '--group-by <names>': {
        text: `one or several of ${GROUPS.join(', ')}, separated by commas`,
        default: 'model,provider,providerModel',
      },
      '--last <time>': { text: 'the last hour, day, week or month', choices: Object.keys(HOURS), default: 'day' },
      '--from <instant>': 'from an instant on, such as 2026-11-20T12:00:00Z, in place of --last',
      '--model <model>': 'only this model',
      '--provider <provider>': 'only this provider',
    },
    async reads(admin, output, given) {
      const hours = HOURS[given.last as keyof typeof HOURS];
      const query = queryOf(given, ['groupBy', 'from', 'model', 'provider']);
      query.from ??= new Date(Date.now() - hours * 3_600_000).toISOString();
      output.print(await admin.request<LatencyResponse>('GET', `/latency?${new URLSearchParams(query)}`), describe);
    },
  },
};

function describe({ data, from, timezone, isCut }: LatencyResponse): string {
  const named = GROUPS.filter((name) => data[0]?.[name] !== undefined);
  const groups = named.map((title): Column<LatencyRow> => ({ title, cell: (row) => row[title] ?? '' }));
  const cut = isCut ? '\nFurther groups are not shown.' : '';
  return `${renderTable(data, 'No calls.', [...groups, ...FIGURES])}\n\nSince ${localTime(from)}; days are in the time zone ${timezone}.${cut}`;
}

const ms = (value: number | null): string => (value === null ? '-' : String(value));

const FIGURES: readonly Column<LatencyRow>[] = [
  ...columnsOf<LatencyRow>('attempts', 'errors', 'refused'),
  { title: 'p50 ms', cell: (row) => ms(row.durationMs.p50) },
  { title: 'p95 ms', cell: (row) => ms(row.durationMs.p95) },
  { title: 'first p50', cell: (row) => ms(row.firstByteMs.p50) },
  { title: 'first p95', cell: (row) => ms(row.firstByteMs.p95) },
  { title: 'tokens/s', cell: (row) => row.tokensPerSecond?.toFixed(1) ?? '-' },
];
