import { Alert, Button, Group, Loader, Stack, Text } from '@mantine/core';
import { AlertIcon } from '@primer/octicons-react';
import { type ReactNode, useEffect, useState } from 'react';
import { ApiError, isAway } from '../api/client.ts';
import { useLanguage, useTexts } from '../text/language.tsx';
import { ownValue } from '../text/own-value.ts';
import { SignInAgain } from './sign-in-again.tsx';
import { SmallText } from './small.ts';
import { commonTexts } from './texts.ts';

interface ErrorNoticeProps {
  readonly error: Error | null;
  readonly onRetry?: () => void;
  /** Something was to be changed: without a response nobody knows whether it was. */
  readonly isOfChange?: boolean;
}

/** Says what went wrong, and by which request id the operator finds it. Nothing if nothing did. */
export function ErrorNotice({ error, onRetry, isOfChange = false }: ErrorNoticeProps) {
  const text = useTexts(commonTexts);
  const message = useGatewayMessage(error?.message ?? '');
  if (error === null) return null;
  const isUnreachable = error instanceof ApiError && error.status === 0;
  const requestId = error instanceof ApiError ? error.requestId : null;
  const messageOf = (): string => {
    if (isOfChange && isAway(error)) return text.unanswered;
    return isUnreachable ? text.unreachable : message;
  };
  const isOfOldSession = error instanceof ApiError && error.code === 'sign_in_again';
  const reasons = text.reasons as Readonly<Record<string, string>>;
  const reason = error instanceof ApiError ? ownValue(reasons, error.code) : undefined;
  return (
    <Alert color="red" icon={<AlertIcon />} title={isUnreachable ? undefined : (reason ?? text.failed)} role="alert">
      <Text size="sm">{messageOf()}</Text>
      {requestId !== null && <SmallText>{text.ofRequest(requestId)}</SmallText>}
      {isOfOldSession && <SignInAgain onDone={onRetry} />}
      {onRetry !== undefined && !isOfOldSession && (
        <Button mt="xs" size="xs" variant="light" color="red" onClick={onRetry}>
          {text.retry}
        </Button>
      )}
    </Alert>
  );
}

/** What the gateway says, in the language in force. Its Chinese is loaded when it is first wanted; it stays as it is if that fails. */
function useGatewayMessage(message: string): string {
  const { language } = useLanguage();
  const [chinese, setChinese] = useState({ of: '', message: '' });
  useEffect(() => {
    if (language !== 'zh' || message === '') return;
    import('./gateway-messages.ts').then(
      ({ inChinese }) => setChinese({ of: message, message: inChinese(message) }),
      () => undefined,
    );
  }, [language, message]);
  return language === 'zh' && chinese.of === message ? chinese.message : message;
}

interface EmptyStateProps {
  readonly title?: string;
  /** What to do, so that something is here. */
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

/** Something that is read, as `useRead` has it. */
export interface Read {
  readonly isPending: boolean;
  readonly error: Error | null;
  refetch(): unknown;
}

/** Says that something is being read, or why it cannot be. Nothing once it is there. */
export function ReadState({ read }: { readonly read: Read }) {
  return read.isPending ? <Loading /> : <ErrorNotice error={read.error} onRetry={() => void read.refetch()} />;
}
