/** A group of calls as the usage endpoints sum it up; of account holders and of operators alike. */
export interface UsageGroup {
  readonly day?: string | null | undefined;
  readonly month?: string | null | undefined;
  readonly model?: string | null | undefined;
  readonly provider?: string | null | undefined;
  readonly accountId?: string | null | undefined;
  readonly accountName?: string | null | undefined;
  readonly keyId?: string | null | undefined;
  readonly keyName?: string | null | undefined;
  readonly keyPrefix?: string | null | undefined;
  readonly status?: string | null | undefined;
  readonly context?: string | null | undefined;
  readonly calls: number;
  readonly netChargeYuan: string;
  readonly usage: { readonly [unit: string]: number };
}
