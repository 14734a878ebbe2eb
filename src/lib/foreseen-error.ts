import { NamedError } from './named-error.ts';

/** An error that tells a user of the command line what is wrong and what to do. It is printed without a stack. */
export class ForeseenError extends NamedError {}
