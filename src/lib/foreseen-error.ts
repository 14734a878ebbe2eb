import { NamedError } from './named-error.ts';

/** An error whose message tells a command-line user what is wrong and what to do. It is printed without a stack. */
export class ForeseenError extends NamedError {}
