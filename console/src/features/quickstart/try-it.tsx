import { Alert, Anchor, Box, Button, Stack, Text, Textarea } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { errorOf } from '../../api/client.ts';
import { useRead } from '../../api/queries.ts';
import { Form } from '../../parts/forms/form.tsx';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { hashOf } from '../../parts/location.ts';
import { ErrorNotice } from '../../parts/notices.tsx';
import { inputTokensOf, outputTokensOf } from '../../parts/usage/usage-sums.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { EndedEarly, streamedText } from './streamed-text.ts';
import { quickstartTexts } from './texts.ts';
import { chatBase, messagesBase, type Wanted } from './wanted.ts';

const OUTPUT_TOKENS_MAX = 512;
/** Time after the response within which the call must be recorded; otherwise the user cannot see it. */
const COUNTED_WITHIN_MS = 30_000;

interface TryItProps {
  readonly wanted: Wanted;
  readonly apiKey: string | null;
  readonly operation: 'chat' | 'messages';
}

/** Sends a test call, streams the response, then shows its cost. */
export function TryIt({ wanted, apiKey, operation }: TryItProps) {
  const text = useTexts(quickstartTexts);
  const [{ prompt }, field] = useDraft(() => ({ prompt: text.promptExample }));
  const [response, setResponse] = useState('');
  const [requestId, setRequestId] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [cut, setCut] = useState<'stopped' | 'endedEarly' | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const abort = useRef<AbortController | null>(null);
  // Leaving the page stops the call.
  useEffect(() => () => abort.current?.abort(), []);

  async function send(): Promise<void> {
    if (apiKey === null) return;
    const controller = new AbortController();
    abort.current = controller;
    setResponse('');
    setError(null);
    setRequestId(null);
    setCut(null);
    setIsBusy(true);
    try {
      const response = await call(operation, { ...wanted, key: apiKey }, prompt, controller.signal);
      setRequestId(response.headers.get('x-request-id'));
      if (!response.ok || response.body === null) throw new Error((await errorOf(response)).message);
      for await (const part of streamedText(response.body)) setResponse((before) => before + part);
    } catch (thrown) {
      if (controller.signal.aborted) setCut('stopped');
      else if (thrown instanceof EndedEarly) setCut('endedEarly');
      else setError(thrown as Error);
    } finally {
      setIsBusy(false);
    }
  }

  const isDone = requestId !== null && !isBusy && error === null && cut === null;
  return (
    <Stack>
      <Form
        submitLabel={text.send}
        onSubmit={() => void send()}
        isBusy={isBusy}
        isDisabled={apiKey === null}
        beside={
          <>
            {isBusy && (
              <Button variant="default" onClick={() => abort.current?.abort()}>
                {text.stop}
              </Button>
            )}
            {apiKey === null && <Text c="dimmed">{text.needsKey}</Text>}
          </>
        }
      >
        <Textarea label={text.prompt} {...field('prompt')} autosize minRows={2} maxRows={8} required />
      </Form>
      {response !== '' && (
        <Box
          component="section"
          aria-label={text.response}
          aria-live="polite"
          p="sm"
          bg="var(--mantine-color-default-hover)"
          style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', borderRadius: 8 }}
        >
          {response}
        </Box>
      )}
      {isDone && response === '' && <Text>{text.noText}</Text>}
      {cut !== null && (
        <Alert color="yellow" role="alert">
          {text[cut]}
        </Alert>
      )}
      <ErrorNotice error={error} />
      {requestId !== null && !isBusy && (response !== '' || error === null) && <Cost requestId={requestId} />}
    </Stack>
  );
}

function Cost({ requestId }: { readonly requestId: string }) {
  const text = useTexts(quickstartTexts);
  const format = useFormat();
  const [isEnded, setIsEnded] = useState(false);
  const [isLate, setIsLate] = useState(false);
  const found = useRead('GET /account/v1/calls', { query: { requestId } }, { isLive: !isEnded && !isLate }).data
    ?.data[0];
  const isFound = found !== undefined;
  const ended = isFound && 'usage' in found ? found : null;
  useEffect(() => setIsEnded(ended !== null), [ended]);
  useEffect(() => {
    if (isFound) return;
    const timer = setTimeout(() => setIsLate(true), COUNTED_WITHIN_MS);
    return () => clearTimeout(timer);
  }, [isFound]);
  if (ended === null) return <Text c="dimmed">{isLate ? text.notSeen : text.counting}</Text>;
  const { usage, chargeYuan, context } = ended;
  const [input, output] = [format.count(inputTokensOf(usage ?? {})), format.count(outputTokensOf(usage ?? {}))];
  return (
    <Alert color="teal" title={text.cost}>
      <Text className="figure">
        {context === 'coding'
          ? text.onPlan(input, output)
          : text.costLine(input, output, format.yuan(chargeYuan ?? '0'))}
      </Text>
      <Anchor href={hashOf(`/calls/${ended.id}`)}>{text.toCall}</Anchor>
    </Alert>
  );
}

function call(operation: 'chat' | 'messages', wanted: Wanted, prompt: string, signal: AbortSignal): Promise<Response> {
  const isChat = operation === 'chat';
  const body = {
    model: wanted.model,
    stream: true,
    max_tokens: OUTPUT_TOKENS_MAX,
    messages: [{ role: 'user', content: prompt }],
  };
  return fetch(isChat ? `${chatBase(wanted)}/chat/completions` : `${messagesBase(wanted)}/v1/messages`, {
    method: 'POST',
    // Excludes the session cookie: the key pays.
    credentials: 'omit',
    headers: { authorization: `Bearer ${wanted.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
}
