/** The call records of a month and the ledger contradict each other. */
export class DisagreementError extends Error {
  /** Names the call or the account. */
  readonly detail: string;
  constructor(detail: string) {
    super(`call records and ledger disagree: ${detail}`);
    this.name = 'DisagreementError';
    this.detail = detail;
  }
}
