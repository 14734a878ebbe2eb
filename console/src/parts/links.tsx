import { Anchor } from '@mantine/core';
import { useRead } from '../api/queries.ts';
import { hashOf } from './location.ts';

interface AccountLinkProps {
  readonly accountId: string;
  /** Read if it is not given. */
  readonly name?: string | undefined;
}

/** The name of an account, which leads to its page. */
export function AccountLink({ accountId, name }: AccountLinkProps) {
  const account = useRead('GET /admin/v1/accounts/{id}', { path: { id: accountId } }, { isWanted: name === undefined });
  return (
    <Anchor href={hashOf(`/operator/accounts/${accountId}`)} size="sm" title={accountId}>
      {name ?? account.data?.name ?? accountId}
    </Anchor>
  );
}

interface CallLinkProps {
  readonly callId: string;
  readonly isWhole?: boolean;
  /** Where its story stands: for operators, if nothing else is said. */
  readonly storiesAt?: string;
}

/** The id of a call, which leads to its story; cut, because its end is what differs. */
export function CallLink({ callId, isWhole = false, storiesAt = '/operator/calls' }: CallLinkProps) {
  return (
    <Anchor
      href={hashOf(`${storiesAt}/${callId}`)}
      size="sm"
      title={callId}
      ff="monospace"
      style={{ whiteSpace: 'nowrap' }}
    >
      {isWhole ? callId : `…${callId.slice(-8)}`}
    </Anchor>
  );
}
