import { NamedError } from './named-error.ts';

/** An error whose message says to whoever uses the command line what is wrong and what to do: it is printed without a stack. */
export class ForeseenError extends NamedError {}
