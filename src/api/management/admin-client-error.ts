/** The admin API refused the request or was not reached; the message says why. */
export class AdminClientError extends Error {
  /** The code of the API, and the field that it is about; `null` if there is none. */
  readonly code: string | null;
  readonly param: string | null;

  constructor(message: string, options: ErrorOptions & { code?: string | null; param?: string | null } = {}) {
    super(message, options);
    this.name = 'AdminClientError';
    this.code = options.code ?? null;
    this.param = options.param ?? null;
  }
}
