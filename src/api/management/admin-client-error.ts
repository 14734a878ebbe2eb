/** An error response of the admin API, or a failure to reach the gateway. */
export class AdminClientError extends Error {
  readonly code: string | null;
  readonly param: string | null;

  constructor(message: string, options: ErrorOptions & { code?: string | null; param?: string | null } = {}) {
    super(message, options);
    this.name = 'AdminClientError';
    this.code = options.code ?? null;
    this.param = options.param ?? null;
  }
}
