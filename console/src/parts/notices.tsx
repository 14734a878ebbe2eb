import { Alert, Button, Group, List, Loader, Stack, Text } from '@mantine/core';
import { AlertIcon } from '@primer/octicons-react';
import type { ReactNode } from 'react';
import { ApiError, isAway } from '../api/client.ts';
import { useTexts } from '../text/language.tsx';
import { ownValue } from '../text/own-value.ts';
import { GatewayMessage, useGatewayMessage } from './gateway-message.tsx';
import { SignInAgain } from './sign-in-again.tsx';
import { SmallText } from './small.ts';
import { SupportLine } from './support-line.tsx';
import { commonTexts } from './texts.ts';

interface ErrorNoticeProps {
  readonly error: Error | null;
  readonly onRetry?: () => void;
  /** Whether the request changes something. If so, a lost response leaves the outcome unknown. */
  readonly isOfChange?: boolean;
  /** By default the name of the error. */
  readonly title?: string;
  /** What the user can do. */
  readonly hint?: ReactNode;
}

/** An error with the request id, by which an operator can find the request. */
export function ErrorNotice({ error, onRetry, isOfChange = false, title, hint }: ErrorNoticeProps) {
  const text = useTexts(commonTexts);
  const message = useGatewayMessage(error?.message ?? '');
  if (error === null) return null;
  const isUnreachable = error instanceof ApiError && error.status === 0;
  const { requestId = null, details = [] } = error instanceof ApiError ? error : {};
  const messageOf = (): string => {
    if (isOfChange && isAway(error)) return text.unanswered;
    return isUnreachable ? text.unreachable : message;
  };
  const isOfOldSession = error instanceof ApiError && error.code === 'sign_in_again';
  const reasons = text.reasons as Readonly<Record<string, string>>;
  const reason = error instanceof ApiError ? ownValue(reasons, error.code) : undefined;
  return (
    <Alert
      color="red"
      icon={<AlertIcon />}
      title={isUnreachable ? undefined : (title ?? reason ?? text.failed)}
      role="alert"
    >
      <Text size="sm">{messageOf()}</Text>
      {hint && <Text size="sm">{hint}</Text>}
      {details.length > 0 && (
        <List size="sm">
          {details.map((line) => (
            <List.Item key={line} style={{ overflowWrap: 'anywhere' }}>
              <GatewayMessage>{line}</GatewayMessage>
            </List.Item>
          ))}
        </List>
      )}
      {requestId !== null && <SmallText>{text.ofRequest(requestId)}</SmallText>}
      <SupportLine />
      {isOfOldSession && <SignInAgain onDone={onRetry} />}
      {onRetry !== undefined && !isOfOldSession && (
        <Button mt="xs" size="xs" variant="light" color="red" onClick={onRetry}>
          {text.retry}
        </Button>
      )}
    </Alert>
  );
}

interface EmptyStateProps {
  readonly title?: string;
  readonly hint?: ReactNode;
  readonly action?: ReactNode;
}

export function EmptyState({ title, hint, action }: EmptyStateProps) {
  const text = useTexts(commonTexts);
  return (
    <Stack align="center" gap={4} py="xl" ta="center">
      <Text fw={600}>{title ?? text.nothing}</Text>
      {hint !== undefined && (
        <Text c="dimmed" size="sm" maw={480}>
          {hint}
        </Text>
      )}
      {action !== undefined && <Group mt="sm">{action}</Group>}
    </Stack>
  );
}

export function Loading() {
  const text = useTexts(commonTexts);
  return (
    <Group justify="center" py="xl" role="status">
      <Loader size="sm" />
      <Text c="dimmed" size="sm">
        {text.loading}
      </Text>
    </Group>
  );
}

export interface Read {
  readonly isPending: boolean;
  readonly error: Error | null;
  refetch(): unknown;
}

export function ReadState({ read }: { readonly read: Read }) {
  return read.isPending ? <Loading /> : <ErrorNotice error={read.error} onRetry={() => void read.refetch()} />;
}
