/** The kinds of notices. `docs/notices.md` describes the data of each. */

export const ACCOUNT_KINDS = ['balance.low', 'plan.nearly_used', 'key.expiring'] as const;
const OPERATOR_KINDS = ['route.down', 'provider.refused_account'] as const;
export const NOTICE_KINDS = [...ACCOUNT_KINDS, ...OPERATOR_KINDS] as const;

type AccountKind = (typeof ACCOUNT_KINDS)[number];
type OperatorKind = (typeof OPERATOR_KINDS)[number];
export type NoticeKind = AccountKind | OperatorKind;

export const TEST_KIND = 'webhook.test';

/** The data of a notice. It never contains secrets. */
type NoticeData = Readonly<Record<string, string | number | boolean | null>>;

/** An event that receivers are notified of. */
export interface Notice {
  readonly id: string;
  readonly kind: NoticeKind | typeof TEST_KIND;
  /** The account; `null`: the notice is only for operators. */
  readonly accountId: string | null;
  /** The affected object; unique within the kind. */
  readonly subject: string;
  readonly data: NoticeData;
  readonly atMs: number;
}

export interface DueNotice {
  readonly kind: NoticeKind;
  readonly accountId: string | null;
  readonly subject: string;
  /** Identifies the occurrence, for which at most one notice is stored. */
  readonly dedupeKey: string;
  /** The notice is dropped if a notice with the same kind and subject is younger than this, in milliseconds; 0: it is never dropped. */
  readonly quietMs: number;
  readonly data: NoticeData;
}

/** Returns the body, which is signed and identical for every attempt. */
export function payloadOf({ kind, atMs, data }: Notice): string {
  return JSON.stringify({ type: kind, timestamp: new Date(atMs).toISOString(), data });
}
