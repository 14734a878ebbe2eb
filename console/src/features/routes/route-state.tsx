import { Badge, Group, Text } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { Route } from '../../api/types.ts';
import { Instant } from '../../parts/figures.tsx';
import { SmallText } from '../../parts/small.ts';
import { useTexts } from '../../text/language.tsx';
import { worstStates } from './credential-states.ts';
import { VendorLimits } from './limits.tsx';
import { routesTexts } from './texts.ts';

const COLORS = { closed: 'teal', open: 'red', probing: 'yellow', off: 'gray' } as const;

/** Whether a route takes calls, and if not, the reason. */
export function RouteState({ route }: { readonly route: Route }) {
  const text = useTexts(routesTexts);
  const brokenFor = route.accountBreakers.filter(({ state }) => state !== 'closed').length;
  return (
    <>
      <Group gap={4}>
        <Badge color={COLORS[route.state]} title={route.state === 'open' ? text.openHint : undefined}>
          {text[route.state]}
        </Badge>
        {route.drained !== null && (
          <Badge color="orange" title={route.drained.reason ?? undefined}>
            {text.drained}
          </Badge>
        )}
      </Group>
      {route.failuresInARow > 0 && <Text size="xs">{text.failures(route.failuresInARow)}</Text>}
      {brokenFor > 0 && <Text size="xs">{text.accountBreakers(brokenFor)}</Text>}
    </>
  );
}

export function Credentials({ route: { credentials } }: { readonly route: Route }) {
  const text = useTexts(routesTexts);
  return credentials.map(({ name, state, status, vendorLimits }) => (
    <div key={name}>
      <Text size="sm" {...(state === 'active' ? {} : { fw: 600 })}>
        {name}: {text.credentialStates[state]}
        {status !== null && ` (${status})`}
      </Text>
      <VendorLimits limits={vendorLimits} />
    </div>
  ));
}

interface CredentialStatesProps {
  readonly provider: string;
  /** One credential of the provider; by default all, with their names. */
  readonly credential?: string;
}

/** The states of credentials over all routes of a provider, and when they were last used. */
export function CredentialStates({ provider, credential }: CredentialStatesProps) {
  const text = useTexts(routesTexts);
  const { data } = useRead('GET /admin/v1/routes', {}, { isLive: true });
  const states = worstStates(data?.data ?? [], provider).filter(
    ({ name }) => credential === undefined || name === credential,
  );
  return states.map(({ name, state, status, triedAgainAt, lastUsedAt }) => (
    <SmallText key={name} component="div">
      {credential === undefined && `${name}${text.colon}`}
      <Text span inherit {...(state === 'active' ? {} : { fw: 600, c: 'red' })}>
        {text.credentialStates[state]}
        {status !== null && ` (${status})`}
      </Text>
      {triedAgainAt !== null && (
        <>
          {' · '}
          {text.triedAgain}
          {text.colon}
          <Instant at={triedAgainAt} />
        </>
      )}
      {' · '}
      {text.lastUsed}
      {text.colon}
      {lastUsedAt === null ? text.notSinceStart : <Instant at={lastUsedAt} />}
    </SmallText>
  ));
}
