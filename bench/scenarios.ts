import type { RequestKind, ResponseKind } from './load/order.ts';

/** The scenarios of the bench. The number after a scenario's name is its number of connections, calls per second or streams. */

export type Kind =
  | 'chat'
  | 'coding'
  | 'rate'
  | 'streams'
  | 'prompt'
  | 'response'
  | 'images'
  | 'catalog'
  | 'estimate'
  | 'translated-chat'
  | 'translated-stream';

/** Figures of a target in a round; `null` or absent if unavailable. */
export type FigureKey =
  | 'perSecond'
  | 'p50Ms'
  | 'p99Ms'
  | 'p999Ms'
  | 'cpuMicros'
  | 'databaseMicros'
  | 'bothMicros'
  | 'commits'
  | 'rssMb'
  | 'kbAStream'
  | 'mbPerSecond'
  | 'cpuMsAMb'
  | 'delayP99Ms';
export type Figures = Partial<Record<FigureKey, number | null>>;

export interface Column {
  readonly key: FigureKey;
  readonly title: string;
  readonly digits: number;
  /** Comparison with the bare proxy: ratio, difference, or none. */
  readonly against: 'ratio' | 'difference' | 'nothing';
}

/** A kind of scenario. */
export interface KindRow {
  readonly kind: Kind;
  /** The meaning of the number. */
  readonly unit: 'connections' | 'calls a second' | 'streams';
  readonly defaultSize: number;
  readonly what: string;
  readonly request: RequestKind;
  readonly response: ResponseKind;
  /** Its path at gateways. */
  readonly path: string;
  /** Whether it compares translated calls with relayed ones, at one gateway. */
  readonly isTranslated?: boolean;
  /** Whether a forwarding proxy can serve it with the help of the provider. */
  readonly isPassedOn: boolean;
  readonly columns: readonly Column[];
}

export interface Scenario extends KindRow {
  /** Such as `chat-64`. */
  readonly name: string;
  readonly size: number;
}

const PER_SECOND: Column = { key: 'perSecond', title: 'calls/s', digits: 0, against: 'ratio' };
const P50: Column = { key: 'p50Ms', title: 'p50 ms', digits: 2, against: 'nothing' };
const P99: Column = { key: 'p99Ms', title: 'p99 ms', digits: 2, against: 'nothing' };
const CPU: readonly Column[] = [
  { key: 'cpuMicros', title: 'CPU µs/call', digits: 0, against: 'ratio' },
  { key: 'databaseMicros', title: 'database µs/call', digits: 0, against: 'nothing' },
  { key: 'bothMicros', title: 'both µs/call', digits: 0, against: 'ratio' },
];
const COMMITS: Column = { key: 'commits', title: 'commits/call', digits: 3, against: 'nothing' };
const MEMORY: Column = { key: 'rssMb', title: 'MB', digits: 0, against: 'nothing' };
const CALLS: readonly Column[] = [PER_SECOND, P50, P99, ...CPU, COMMITS, MEMORY];
/** Latency that a target adds to a call. */
const LATENCIES: readonly Column[] = [
  { ...P50, against: 'difference' },
  { ...P99, against: 'difference' },
  { key: 'p999Ms', title: 'p99.9 ms', digits: 2, against: 'difference' },
  ...CPU,
  MEMORY,
];
const CHUNKS: readonly Column[] = [
  ...CPU.map((column) => ({ ...column, title: column.title.replace('call', 'chunk'), digits: 1 })),
  { ...P50, against: 'difference' },
  { ...P99, against: 'difference' },
  { key: 'kbAStream', title: 'KB/stream', digits: 1, against: 'difference' },
  MEMORY,
];
const TRANSLATED_CHUNKS: readonly Column[] = CHUNKS.filter(({ key }) => key !== 'kbAStream' && key !== 'rssMb');
const ESTIMATES: readonly Column[] = [
  { key: 'mbPerSecond', title: 'MB/s', digits: 2, against: 'nothing' },
  { key: 'cpuMsAMb', title: 'CPU ms/MB', digits: 1, against: 'nothing' },
  { key: 'delayP99Ms', title: 'loop late p99 ms', digits: 2, against: 'nothing' },
  P50,
  MEMORY,
];

const CHAT_CALLS = {
  unit: 'connections',
  request: 'chat',
  response: 'chat',
  path: '/v1/chat/completions',
  isPassedOn: true,
  columns: CALLS,
} as const;

const KINDS: readonly KindRow[] = [
  { ...CHAT_CALLS, kind: 'chat', defaultSize: 64, what: 'non-stream chat on a balance' },
  {
    ...CHAT_CALLS,
    kind: 'coding',
    defaultSize: 64,
    what: 'coding calls of keys that have every limit',
    path: '/v1/coding/chat/completions',
  },
  {
    ...CHAT_CALLS,
    kind: 'rate',
    unit: 'calls a second',
    defaultSize: 500,
    what: 'non-stream chat at a fixed rate',
    columns: LATENCIES,
  },
  {
    ...CHAT_CALLS,
    kind: 'streams',
    unit: 'streams',
    defaultSize: 1_000,
    what: 'SSE streams, 5,000 chunks a second in all',
    request: 'stream',
    response: 'stream',
    columns: CHUNKS,
  },
  { ...CHAT_CALLS, kind: 'prompt', defaultSize: 16, what: 'prompts of 200 KB', request: 'long prompt' },
  { ...CHAT_CALLS, kind: 'response', defaultSize: 16, what: 'responses of 1 MB', response: 'long' },
  {
    ...CHAT_CALLS,
    kind: 'images',
    defaultSize: 16,
    what: 'image edits, forms of 256 KB',
    request: 'image',
    response: 'image',
    path: '/v1/images/edits',
  },
  {
    ...CHAT_CALLS,
    kind: 'catalog',
    defaultSize: 64,
    what: '`GET /v1/models`',
    request: 'none',
    response: 'models',
    path: '/v1/models',
  },
  {
    ...CHAT_CALLS,
    kind: 'estimate',
    defaultSize: 2,
    what: 'token estimates of 1 MB of mixed text',
    request: 'mixed text',
    path: '/v1/messages/count_tokens',
    isPassedOn: false,
    columns: ESTIMATES,
  },
  {
    ...CHAT_CALLS,
    kind: 'translated-chat',
    defaultSize: 64,
    what: 'translated calls and their relayed twins',
    isPassedOn: false,
    isTranslated: true,
  },
  {
    ...CHAT_CALLS,
    kind: 'translated-stream',
    unit: 'streams',
    defaultSize: 500,
    what: 'translated SSE streams and their relayed twins, 5,000 chunks a second in all',
    request: 'stream',
    response: 'stream',
    isPassedOn: false,
    isTranslated: true,
    columns: TRANSLATED_CHUNKS,
  },
];

/** The default scenarios, which take a few minutes. */
export const DEFAULT_SCENARIOS = 'chat-1,chat-64,chat-256,coding-64,rate-500,streams-1000';
const ALL_SCENARIOS = [
  'chat-1,chat-64,chat-256,coding-64,rate-200,rate-1000,rate-2000,streams-100,streams-1000,streams-2000',
  'prompt-16,response-16,images-16,catalog-64,estimate-2,translated-chat-64,translated-stream-500',
].join(',');

/**
 * The scenarios of a list such as `chat-64,streams`. A kind without a number uses its default; `all` selects all.
 *
 * @throws Error that names an unknown scenario
 */
export function parseScenarios(list: string): Scenario[] {
  return (list === 'all' ? ALL_SCENARIOS : list).split(',').map(parseScenario);
}

function parseScenario(name: string): Scenario {
  const [, kind, digits] = /^([a-z]+(?:-[a-z]+)*)(?:-([1-9]\d{0,5}))?$/.exec(name.trim()) ?? [];
  const row = KINDS.find((candidate) => candidate.kind === kind);
  if (row === undefined) {
    throw new Error(`"${name}" is no scenario; there are ${KINDS.map((known) => known.kind).join(', ')}, and all.`);
  }
  const size = digits === undefined ? row.defaultSize : Number(digits);
  return { ...row, size, name: `${row.kind}-${size}` };
}
