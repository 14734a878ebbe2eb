/** An error whose message says to whoever uses the command line what is wrong and what to do: it is printed without a stack. */
export class ForeseenError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
