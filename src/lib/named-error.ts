/** An error whose `name` is the name of its class. Logs and stacks show the name. */
export class NamedError extends Error {
  constructor(message?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
