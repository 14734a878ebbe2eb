import { Badge, Group, Text } from '@mantine/core';
import type { Route } from '../../api/types.ts';
import { useTexts } from '../../text/language.tsx';
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
  return credentials.map(({ name, state, status }) => (
    <Text key={name} size="sm" {...(state === 'active' ? {} : { fw: 600 })}>
      {name}: {text.credentialStates[state]}
      {status !== null && ` (${status})`}
    </Text>
  ));
}
