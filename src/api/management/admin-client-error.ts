/** Thrown for an error response of the admin API, or if the gateway cannot be reached. */
export class AdminClientError extends Error {
  readonly code: string | null;
  readonly param: string | null;
  /** Single lines, such as the problems of a text. */
  readonly details: readonly string[];

  constructor(message: string, options: ErrorOptions & AdminClientErrorOptions = {}) {
    super(message, options);
    this.name = 'AdminClientError';
    this.code = options.code ?? null;
    this.param = options.param ?? null;
    this.details = options.details ?? [];
  }
}

interface AdminClientErrorOptions {
  readonly code?: string | null;
  readonly param?: string | null;
  readonly details?: readonly string[];
}
