import type { OperationName } from '../../../protocols/operations/all.ts';

/** Number of days in the simulated month. A day is counted from the month's beginning, and can be a fraction. */
export const MONTH_DAYS = 30;

/** Relative number of calls in each hour of a day. `weekend`: factor for Saturdays and Sundays. */
const BY_DAY = {
  hours: [1, 1, 0, 0, 0, 0, 1, 3, 8, 16, 20, 19, 10, 13, 19, 21, 20, 17, 11, 8, 8, 7, 4, 2],
  weekend: 0.25,
};
const BY_NIGHT = { hours: [9, 26, 30, 22, 8, 1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 2], weekend: 1 };
const ALL_DAY = { hours: [3, 2, 2, 2, 2, 2, 3, 5, 6, 7, 8, 8, 7, 7, 8, 8, 8, 8, 7, 8, 8, 7, 5, 4], weekend: 0.7 };

/** Kinds of calls. One that is repeated in a list is more frequent. */
const CHATTING: OperationName[] = ['chat', 'chat', 'chat', 'messages', 'messages', 'responses'];
const CODING: OperationName[] = ['messages', 'messages', 'chat'];
const SEARCH: OperationName[] = ['embeddings', 'embeddings', 'rerank', 'chat'];
const CHAT: OperationName[] = ['chat'];
const DRAWING: OperationName[] = ['images.generate', 'chat', 'chat'];

/**
 * `yuan` is the first payment. An account with `refills` is topped up to that amount when a quarter is left, and at the end of the month.
 * Blue Harbor has spent its balance, Tidewater is suspended for an unpaid invoice, and Fern is not verified yet.
 */
export const ACCOUNTS = [
  { name: 'demo', email: null, day: 0, yuan: 100, refills: true, voucherDay: 5.5 },
  {
    name: 'Northwind Research',
    email: 'billing@northwind.example',
    day: 0,
    yuan: 150,
    refills: true,
    voucherDay: 16.5,
  },
  { name: 'Blue Harbor Design', email: 'studio@blueharbor.example', day: 5, yuan: 40 },
  { name: 'Tidewater Labs', email: 'ops@tidewater.example', day: 1, yuan: 60, suspendedDay: 28 },
  { name: 'Fern Studio', email: 'hello@fern.example', day: 28, yuan: 10, isUnverified: true },
];

export type AccountLife = (typeof ACCOUNTS)[number];

/** `perDay`: number of calls on a working day. The demo prints the first key. */
export const KEYS = [
  { account: 'demo', name: 'demo', day: 0, perDay: 8, rhythm: BY_DAY, kinds: CHATTING },
  { account: 'demo', name: 'laptop', day: 0, perDay: 17, rhythm: BY_DAY, kinds: CHATTING, dailyCapYuan: 20 },
  { account: 'demo', name: 'editor', day: 6, perDay: 15, rhythm: BY_DAY, kinds: CODING, isOnPlan: true },
  // This key was created six hours ago, so that there are calls in the five-hour window.
  { account: 'demo', name: 'release agent', day: 29.75, perDay: 80, rhythm: ALL_DAY, kinds: CODING, isOnPlan: true },
  { account: 'demo', name: 'covers', day: 2, perDay: 0.4, rhythm: BY_DAY, kinds: DRAWING },
  { account: 'demo', name: 'search index', day: 3, perDay: 10, rhythm: BY_NIGHT, kinds: SEARCH },
  { account: 'Northwind Research', name: 'search service', day: 0, perDay: 36, rhythm: ALL_DAY, kinds: SEARCH },
  { account: 'Northwind Research', name: 'nightly evaluation', day: 0, perDay: 17, rhythm: BY_NIGHT, kinds: CHAT },
  {
    account: 'Northwind Research',
    name: 'agents',
    day: 2,
    perDay: 46,
    rhythm: BY_DAY,
    kinds: CODING,
    dailyCapYuan: 50,
  },
  { account: 'Blue Harbor Design', name: 'studio', day: 5, perDay: 22, rhythm: BY_DAY, kinds: DRAWING },
  { account: 'Tidewater Labs', name: 'production', day: 1, perDay: 14, rhythm: ALL_DAY, kinds: SEARCH },
  { account: 'Fern Studio', name: 'first key', day: 28, perDay: 4, rhythm: ALL_DAY, kinds: CODING },
];

export type KeyLife = (typeof KEYS)[number];

/** The first one runs the demo. The others are invited, and have not signed in yet. */
export const PEOPLE = [
  { name: 'demo', email: null, day: 0, operatorRole: 'operator', account: 'demo', role: 'owner' },
  { name: 'Lin Wei', email: 'lin@northwind.example', day: 1, account: 'Northwind Research', role: 'owner' },
  { name: 'Sam Okafor', email: 'sam@northwind.example', day: 6, account: 'Northwind Research', role: 'member' },
  { name: 'Ana Ruiz', email: 'ana@books.example', day: 2, operatorRole: 'auditor' },
];

export const VOUCHERS = { name: 'autumn workshop', yuan: 10, count: 20, day: 4, endsDay: 90 };
/** Day on which the demo's plan begins, chosen so that now is within a week and a period. */
export const PLAN_DAY = 5.75;
/** Days on which a node died during a call. */
export const UNRESOLVED_DAYS = [18, 27];
