/** Kinds of notices about an account. `docs/notices.md` describes the data of each kind. */

export const ACCOUNT_KINDS = [
  'balance.low',
  'budget.nearly_used',
  'plan.nearly_used',
  'key.expiring',
  'invoice.closed',
] as const;
const OPERATOR_KINDS = [
  'route.down',
  'provider.refused_account',
  'provider.budget_nearly_used',
  'catalog.failed',
  'catalog.recovered',
  'prices.changed',
  'prices.failed',
  'invoice.requested',
] as const;
export const NOTICE_KINDS = [...ACCOUNT_KINDS, ...OPERATOR_KINDS] as const;

type AccountKind = (typeof ACCOUNT_KINDS)[number];
type OperatorKind = (typeof OPERATOR_KINDS)[number];
export type NoticeKind = AccountKind | OperatorKind;

export const TEST_KIND = 'webhook.test';

/** Data of a notice, which never contains secrets. */
type NoticeData = Readonly<Record<string, string | number | boolean | null>>;

export interface Notice {
  readonly id: string;
  readonly kind: NoticeKind | typeof TEST_KIND;
  /** Account that the notice is about; `null`: it is for operators only. */
  readonly accountId: string | null;
  /** What the notice is about; unique within its kind. */
  readonly subject: string;
  readonly data: NoticeData;
  readonly atMs: number;
}

export interface DueNotice {
  readonly kind: NoticeKind;
  readonly accountId: string | null;
  readonly subject: string;
  /** Key of the occurrence. At most one notice is stored for each key. */
  readonly dedupeKey: string;
  /** A notice is dropped if one of the same kind and subject is younger than this, in milliseconds; 0: it is never dropped. */
  readonly quietMs: number;
  /** Who gets a mail about an account; absent: its owners. */
  readonly mailTo?: {
    /** A user, in addition to the owners or alone; `null`: none. */
    readonly userId: string | null;
    readonly owners: boolean;
  };
  readonly data: NoticeData;
}

/** Returns the payload of a notice. It is signed, and the same for every attempt. */
export function payloadOf({ kind, atMs, data }: Notice): string {
  return JSON.stringify({ type: kind, timestamp: new Date(atMs).toISOString(), data });
}
