import { z } from 'zod';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { PasswordResets } from '../../people/password-resets.ts';
import type { AttemptCounts } from '../../people/sign-in-limits.ts';
import { foldSignInName } from '../../people/sign-in-name.ts';
import { type PeopleEndpoint, peopleEndpoint } from './endpoint.ts';
import { signInName } from './fields.ts';
import { tooManyAttempts } from './people-errors.ts';

export interface PasswordResetDependencies {
  readonly resets: Pick<PasswordResets, 'isAvailable' | 'request'>;
  readonly limits: Pick<AttemptCounts, 'begin'>;
}

export function passwordResetEndpoints({ resets, limits }: PasswordResetDependencies): PeopleEndpoint[] {
  return [
    peopleEndpoint({
      method: 'GET',
      path: '/password-resets',
      summary: 'Whether people who forgot their password can get a link by mail',
      needs: 'anyone',
      response: z.strictObject({ isAvailable: z.boolean() }),
      run: async () => ({ isAvailable: resets.isAvailable() }),
    }),
    peopleEndpoint({
      method: 'POST',
      path: '/password-resets',
      summary:
        'Ask for a link by mail to choose a new password; the response is the same whether or not such a user exists',
      needs: 'anyone',
      // The audit log records the link itself. A request for nobody changes nothing.
      isChange: false,
      body: z.strictObject({ user: signInName }),
      async run({ body: { user } }, visit) {
        if (!resets.isAvailable()) {
          throw new GatewayError('pathUnknown', {
            message: 'This gateway sends no mail, so nobody can reset a password by mail. Ask an operator for a link.',
          });
        }
        // Counted apart from sign-ins, so that requests by others do not keep a user from signing in. Names contain no zero bytes.
        const waitMs = await limits.begin(`\0reset ${foldSignInName(user)}`, visit.network);
        if (waitMs > 0) throw tooManyAttempts(waitMs);
        resets.request(user, visit.source);
      },
    }),
  ];
}
