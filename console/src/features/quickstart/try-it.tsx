import { Button, Stack, Text, Textarea } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { AnswerView } from '../../parts/calling/answer-view.tsx';
import { type Answer, type CalledOperation, runCall } from '../../parts/calling/run-call.ts';
import { callingTexts } from '../../parts/calling/texts.ts';
import { Form } from '../../parts/forms/form.tsx';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { useTexts } from '../../text/language.tsx';
import { quickstartTexts } from './texts.ts';
import type { Wanted } from './wanted.ts';

const OUTPUT_TOKENS_MAX = 512;

interface TryItProps {
  readonly wanted: Wanted;
  readonly apiKey: string | null;
  readonly operation: CalledOperation;
}

/** Sends a test call, streams the response, then shows its cost. */
export function TryIt({ wanted, apiKey, operation }: TryItProps) {
  const text = { ...useTexts(callingTexts), ...useTexts(quickstartTexts) };
  const [{ prompt }, field] = useDraft(() => ({ prompt: text.promptExample }));
  const [answer, setAnswer] = useState<Answer | null>(null);
  const abort = useRef<AbortController | null>(null);
  // Leaving the page stops the call.
  useEffect(() => () => abort.current?.abort(), []);

  function send(): void {
    if (apiKey === null) return;
    abort.current = new AbortController();
    const messages = [{ role: 'user', content: prompt }];
    const body = { model: wanted.model, stream: true, max_tokens: OUTPUT_TOKENS_MAX, messages };
    void runCall({ target: wanted, apiKey, operation, body }, abort.current.signal, setAnswer);
  }

  const isBusy = answer?.state === 'running';
  return (
    <Stack>
      <Form
        submitLabel={text.send}
        onSubmit={send}
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
      {answer !== null && <AnswerView answer={answer} />}
    </Stack>
  );
}
