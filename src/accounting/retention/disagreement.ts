export class DisagreementError extends Error {
  readonly detail: string;
  constructor(detail: string) {
    super(`call records and ledger disagree: ${detail}`);
    this.name = 'DisagreementError';
    this.detail = detail;
  }
}
