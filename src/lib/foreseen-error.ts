import { NamedError } from './named-error.ts';

/** Tells a command-line user what is wrong and what to do. Printed without a stack. */
export class ForeseenError extends NamedError {}
