import { Anchor } from '@mantine/core';
import { useRead } from '../api/queries.ts';
import { hashOf } from './location.ts';

interface AccountLinkProps {
  readonly accountId: string;
  /** Read from the gateway if absent. */
  readonly name?: string | undefined;
}

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
  /** Path of the call page; by default the operators' page. */
  readonly storiesAt?: string;
}

/** Links the id of a call to its page. By default only the end of the id is shown, which is the distinctive part. */
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
