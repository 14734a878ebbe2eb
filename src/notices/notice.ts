/** What notices there are, and what each says. `docs/notices.md` describes the data of each kind. */

/** Kinds that accounts hear of, each about their own account. */
export const ACCOUNT_KINDS = ['balance.low', 'plan.nearly_used', 'key.expiring'] as const;
/** Kinds that operators alone hear of. */
const OPERATOR_KINDS = ['route.down', 'provider.refused_account'] as const;
export const NOTICE_KINDS = [...ACCOUNT_KINDS, ...OPERATOR_KINDS] as const;

type AccountKind = (typeof ACCOUNT_KINDS)[number];
type OperatorKind = (typeof OPERATOR_KINDS)[number];
export type NoticeKind = AccountKind | OperatorKind;

/** The type of what an endpoint gets for a try. */
export const TEST_KIND = 'webhook.test';

/** Members of a notice: no secret is ever among them. */
type NoticeData = Readonly<Record<string, string | number | boolean | null>>;

/** Something that happened and that somebody is told of. */
export interface Notice {
  readonly id: string;
  readonly kind: NoticeKind | typeof TEST_KIND;
  /** `null`: of the operators alone. */
  readonly accountId: string | null;
  /** What it is about, within its kind. */
  readonly subject: string;
  readonly data: NoticeData;
  readonly atMs: number;
}

/** A notice that is due. */
export interface DueNotice {
  readonly kind: NoticeKind;
  readonly accountId: string | null;
  readonly subject: string;
  /** Names the occurrence: there is one notice of each. */
  readonly dedupeKey: string;
  /** It is left out where there is one of its kind and subject that is younger; 0: it never is. */
  readonly quietMs: number;
  readonly data: NoticeData;
}

/** What a receiver gets: the body that is signed, the same text at every attempt. */
export function payloadOf({ kind, atMs, data }: Notice): string {
  return JSON.stringify({ type: kind, timestamp: new Date(atMs).toISOString(), data });
}
