/** An error whose `name`, which logs and stacks show, is the name of its class. */
export class NamedError extends Error {
  constructor(message?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
