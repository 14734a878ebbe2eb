import { z } from 'zod';
import { durationMs, listOf, section } from './fields.ts';

const WORD = 'a word of the command';
/** A word of a command. It may be secret, so it has no type of its own in `shown.ts`. */
const word = z.string({ error: WORD }).regex(/^[^\0]+$/, { error: WORD });

/** A program that prints a credential, for vendors whose credentials expire (`docs/providers.md`). */
export const credentialCommand = section({
  run: listOf('a program and its arguments', word, 1).describe(
    'Program and arguments, without a shell. It prints the credential, or JSON with the credential and its expiry. Secret.',
  ),
  every: durationMs
    .default(15 * 60_000)
    .describe('How long a credential is used if the output does not say when it expires.'),
  renewBefore: durationMs.default(5 * 60_000).describe('How long before its expiry a credential is renewed.'),
  timeout: durationMs.default(30_000).describe('How long the program may take.'),
});

export type CredentialCommand = z.infer<typeof credentialCommand>;
