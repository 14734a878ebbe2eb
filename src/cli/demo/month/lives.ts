import type { CallKind } from './made-call.ts';

/** What happens in the demo's month, as data. Days are counted from its beginning, and may have fractions. */

/** How much is called in each hour of the day, and on a day of the weekend beside other days. */
export const RHYTHMS = {
  people: { weekend: 0.25, hours: [1, 1, 0, 0, 0, 0, 1, 3, 8, 16, 20, 19, 10, 13, 19, 21, 20, 17, 11, 8, 8, 7, 4, 2] },
  nightly: { weekend: 1, hours: [9, 26, 30, 22, 8, 1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 2] },
  service: { weekend: 0.7, hours: [3, 2, 2, 2, 2, 2, 3, 5, 6, 7, 8, 8, 7, 7, 8, 8, 8, 8, 7, 8, 8, 7, 5, 4] },
};

/** A key, and the calls that it makes: how many on a working day, how they lie in it, and how often each kind occurs. */
interface KeyLife {
  readonly name: string;
  readonly day: number;
  readonly perDay: number;
  readonly rhythm: keyof typeof RHYTHMS;
  readonly kinds: Readonly<Partial<Record<CallKind, number>>>;
  readonly isOnPlan?: boolean;
  readonly dailyCapYuan?: number;
}

export interface AccountLife {
  readonly name: string;
  readonly email: string | null;
  readonly day: number;
  /** What is paid in at first, and again up to that, where it refills, when a quarter is left and when the month ends. */
  readonly yuan: number;
  readonly refills?: boolean;
  readonly voucherDay?: number;
  readonly isUnverified?: boolean;
  readonly suspendedDay?: number;
  readonly keys: readonly KeyLife[];
}

export const MONTH_DAYS = 30;
/** When the demo's plan began: a week of it and its period are under way. */
export const PLAN_DAY = 5.75;
export const VOUCHERS = { name: 'autumn workshop', yuan: 20, count: 20, day: 4, endsDay: 90 };

const CHATTING = { chat: 6, responses: 2, messages: 3, 'images.generate': 0.15 };
const CODING = { messages: 5, chat: 3 };
const SEARCH = { chat: 3, embeddings: 6, rerank: 4 };

/** The account of whoever has started the demo. Its first key is the one that is printed. */
const OWN: AccountLife = {
  name: 'demo',
  email: null,
  day: 0,
  yuan: 100,
  refills: true,
  voucherDay: 5.5,
  keys: [
    { name: 'demo', day: 0, perDay: 8, rhythm: 'people', kinds: CHATTING },
    { name: 'laptop', day: 0, perDay: 17, rhythm: 'people', kinds: CHATTING, dailyCapYuan: 20 },
    { name: 'editor', day: 6, perDay: 15, rhythm: 'people', kinds: CODING, isOnPlan: true },
    // The five-hour window is in use at whatever time the demo starts.
    { name: 'release agent', day: 29.75, perDay: 80, rhythm: 'service', kinds: CODING, isOnPlan: true },
    { name: 'search index', day: 3, perDay: 10, rhythm: 'nightly', kinds: SEARCH },
  ],
};

/** The demo without a month. */
export const BARE: AccountLife = { name: 'demo', email: null, day: 0, yuan: 100, keys: OWN.keys.slice(0, 1) };

export const ACCOUNTS: readonly AccountLife[] = [
  OWN,
  {
    name: 'Northwind Research',
    email: 'billing@northwind.example',
    day: 0,
    yuan: 150,
    refills: true,
    voucherDay: 16.5,
    keys: [
      { name: 'search service', day: 0, perDay: 36, rhythm: 'service', kinds: SEARCH },
      { name: 'nightly evaluation', day: 0, perDay: 17, rhythm: 'nightly', kinds: { chat: 1 } },
      { name: 'agents', day: 2, perDay: 46, rhythm: 'people', kinds: CODING, dailyCapYuan: 50 },
    ],
  },
  // It has spent what it had.
  {
    name: 'Blue Harbor Design',
    email: 'studio@blueharbor.example',
    day: 5,
    yuan: 40,
    keys: [{ name: 'studio', day: 5, perDay: 22, rhythm: 'people', kinds: { 'images.generate': 1, chat: 2 } }],
  },
  // It has not paid its invoice.
  {
    name: 'Tidewater Labs',
    email: 'ops@tidewater.example',
    day: 1,
    yuan: 60,
    suspendedDay: 28,
    keys: [{ name: 'production', day: 1, perDay: 14, rhythm: 'service', kinds: SEARCH }],
  },
  // Nobody has looked at it yet.
  {
    name: 'Fern Studio',
    email: 'hello@fern.example',
    day: 28,
    yuan: 10,
    isUnverified: true,
    keys: [{ name: 'first key', day: 28, perDay: 4, rhythm: 'service', kinds: CODING }],
  },
];

/** Who has been invited, and has not signed in yet: members of an account, and an auditor of the operator. */
export const PEOPLE = [
  { name: 'Lin Wei', email: 'lin@northwind.example', day: 1, account: 'Northwind Research', role: 'owner' },
  { name: 'Sam Okafor', email: 'sam@northwind.example', day: 6, account: 'Northwind Research', role: 'member' },
  { name: 'Ana Ruiz', email: 'ana@books.example', day: 2, account: null, role: 'auditor' },
];
