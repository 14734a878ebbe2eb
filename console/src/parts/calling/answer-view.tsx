import { Alert, Anchor, Box, Stack, Text } from '@mantine/core';
import { ApiError } from '../../api/client.ts';
import { useTexts } from '../../text/language.tsx';
import { hashOf } from '../location.ts';
import { ErrorNotice } from '../notices.tsx';
import { CallCost } from './call-cost.tsx';
import type { Answer } from './run-call.ts';
import { callingTexts } from './texts.ts';
import { adviceOf } from './what-to-do.ts';

/** The response to a call: its text as it arrives, how it ended and, after that, its cost. */
export function AnswerView({ answer }: { readonly answer: Answer }) {
  const text = useTexts(callingTexts);
  const { state, error, ids } = answer;
  const isCut = state === 'stopped' || state === 'endedEarly';
  const hasCost = ids !== null && state !== 'running' && (answer.text !== '' || error === null);
  return (
    <Stack gap="xs">
      {answer.text !== '' && (
        <Box
          role="group"
          aria-label={text.response}
          aria-live="polite"
          // Screen readers read the whole text at its end, and not each piece.
          aria-busy={state === 'running'}
          p="sm"
          bg="var(--mantine-color-default-hover)"
          style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', borderRadius: 8 }}
        >
          {answer.text}
        </Box>
      )}
      {state === 'done' && answer.text === '' && <Text>{text.noText}</Text>}
      {isCut && (
        <Alert color="yellow" role="alert">
          {text[state]}
        </Alert>
      )}
      {error !== null && <CallError error={error} />}
      {hasCost && <CallCost ids={ids} />}
    </Stack>
  );
}

function CallError({ error }: { readonly error: Error }) {
  const text = useTexts(callingTexts);
  const advice = error instanceof ApiError ? adviceOf(error.code) : null;
  // `fetch` throws a TypeError if there is no response.
  const isAway = error instanceof TypeError;
  return (
    <ErrorNotice
      error={isAway ? new Error(text.notReached) : error}
      title={text.failed}
      hint={
        advice !== null && (
          <>
            {text.advice[advice.name]}{' '}
            {advice.page !== null && (
              <Anchor href={hashOf(advice.page)} underline="always">
                {text.pages[advice.name] ?? ''}
              </Anchor>
            )}
          </>
        )
      }
    />
  );
}
