/** The call records of a month contradict the ledger. */
export class DisagreementError extends Error {
  /** Identifies the call or the account that disagrees. */
  readonly detail: string;
  constructor(detail: string) {
    super(`call records and ledger disagree: ${detail}`);
    this.name = 'DisagreementError';
    this.detail = detail;
  }
}
