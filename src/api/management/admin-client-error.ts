/** Thrown for an error response of the admin API, or if the gateway cannot be reached. */
export class AdminClientError extends Error {
  /** HTTP status of the response; `null` if there was none. */
  readonly status: number | null;
  readonly code: string | null;
  readonly param: string | null;
  /** Option or argument of the command line from which `param` has its value, such as `--amount`. */
  readonly option: string | null;
  /** Single lines, such as the problems of a text. */
  readonly details: readonly string[];

  constructor(message: string, options: ErrorOptions & AdminClientErrorOptions = {}) {
    super(message, options);
    this.name = 'AdminClientError';
    this.status = options.status ?? null;
    this.code = options.code ?? null;
    this.param = options.param ?? null;
    this.option = options.option ?? null;
    this.details = options.details ?? [];
  }
}

interface AdminClientErrorOptions {
  readonly status?: number;
  readonly code?: string | null;
  readonly param?: string | null;
  readonly option?: string | null;
  readonly details?: readonly string[];
}
