import { randomBytes } from 'node:crypto';

/** Returns a new admin token for command lines on this machine. */
export const newLocalToken = (): string => randomBytes(24).toString('base64url');
