export type SendResult =
  | {
      readonly outcome: 'delivered';
      readonly status: number | null;
      readonly restMs?: number;
    }
  | {
      readonly outcome: 'failed';
      readonly status: number | null;
      /** Text for the person who configured the receiver. It quotes nothing from the response but a code. */
      readonly error: string;
      /** Whether further attempts would fail, too. */
      readonly isFinal: boolean;
      /** Whether the receiver wants no more notices (HTTP 410). */
      readonly isGone: boolean;
      /** For how long the receiver gets nothing, because of its rate limit; absent: no limit. */
      readonly restMs?: number;
    };

/** A failure after which the attempt can be repeated. */
export function failed(status: number | null, error: string): SendResult & { readonly outcome: 'failed' } {
  return { outcome: 'failed', status, error, isFinal: false, isGone: false };
}
