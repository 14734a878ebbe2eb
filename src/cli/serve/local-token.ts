import { randomBytes } from 'node:crypto';

/** An admin token for the command line of this machine. */
export const newLocalToken = (): string => randomBytes(24).toString('base64url');
