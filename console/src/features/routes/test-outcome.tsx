import { Badge, Text } from '@mantine/core';
import type { ProviderTest } from '../../api/types.ts';
import { GatewayMessage } from '../../parts/gateway-message.tsx';
import { useTexts } from '../../text/language.tsx';
import { routesTexts } from './texts.ts';

interface TestOutcomeProps {
  readonly result: Pick<ProviderTest['results'][number], 'status' | 'httpStatus' | 'message'>;
  readonly failedColor: 'gray' | 'red';
}

/** The outcome of a test call to a provider. */
export function TestOutcome({ result: { status, httpStatus, message }, failedColor }: TestOutcomeProps) {
  const text = useTexts(routesTexts);
  return (
    <>
      <Badge color={status === 'succeeded' ? 'teal' : failedColor}>
        {[text[status], httpStatus].filter((part) => part !== null).join(' ')}
      </Badge>
      {message !== null && (
        <Text size="sm">
          <GatewayMessage>{message}</GatewayMessage>
        </Text>
      )}
    </>
  );
}
