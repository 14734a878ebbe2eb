/** Thrown for an error response of the admin API, or if the gateway cannot be reached. */
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
