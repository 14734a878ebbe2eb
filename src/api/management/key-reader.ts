import { allowedRanges } from '../../accounting/accounts/allow-lists.ts';
import { displayPrefix, hashApiKey, isApiKey } from '../../accounting/accounts/key-format.ts';
import { type KeyStatusStore, refusalOfKey } from '../../accounting/accounts/status-store.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { ClientAddresses } from '../../http/client-address.ts';
import type { Clock } from '../../lib/clock.ts';
import type { CredentialReader } from './guard.ts';

interface KeyReaderDependencies {
  readonly keyStatuses: KeyStatusStore;
  /** Whether a user is a member; false for a suspended user. */
  readonly isMember: (accountId: string, userId: string) => Promise<boolean>;
  readonly addresses: ClientAddresses;
  readonly clock: Clock;
}

/**
 * Authenticates an API key, which needs the scope `account`. Otherwise the rules are those of calls, but the account need not be verified.
 * @throws GatewayError if the key is invalid, not allowed from this network, or lacks the scope
 */
export function keyReader({ keyStatuses, isMember, addresses, clock }: KeyReaderDependencies): CredentialReader {
  return async ({ request, bearer }) => {
    if (bearer === null || !isApiKey(bearer)) return null;
    const [status] = await keyStatuses.findStatuses([hashApiKey(bearer)]);
    if (status == null) return null;
    const refusal = refusalOfKey(status, clock.nowMs());
    if (refusal !== null) throw new GatewayError('invalidApiKey', { message: refusal });
    const networks = allowedRanges(status.allowed.networks);
    if (networks !== null && !networks.has(addresses.exactOf(request.raw))) throw new GatewayError('networkNotAllowed');
    if (!status.scopes.includes('account')) {
      throw new GatewayError('scopeNotAllowed', { message: 'This API key does not have the scope "account".' });
    }
    const { keyId, accountId, userId } = status;
    if (userId !== null && !(await isMember(accountId, userId))) {
      throw new GatewayError('invalidApiKey', {
        message: 'The user who owns this API key may no longer use the account.',
      });
    }
    return { kind: 'api_key', id: keyId, prefix: displayPrefix(bearer), accountId, userId };
  };
}
