/** Records and ledger say different things of calls of a month. */
export class DisagreementError extends Error {
  /** Names the call, or the account. */
  readonly detail: string;
  constructor(detail: string) {
    super(`call records and ledger disagree: ${detail}`);
    this.name = 'DisagreementError';
    this.detail = detail;
  }
}
