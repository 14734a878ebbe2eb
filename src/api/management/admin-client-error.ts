/** An error response of the admin API, or the failure to reach it. */
export class AdminClientError extends Error {
  /** The error code and the invalid field; `null` if there is none. */
  readonly code: string | null;
  readonly param: string | null;

  constructor(message: string, options: ErrorOptions & { code?: string | null; param?: string | null } = {}) {
    super(message, options);
    this.name = 'AdminClientError';
    this.code = options.code ?? null;
    this.param = options.param ?? null;
  }
}
