import { Alert, Button, Group, SegmentedControl, SimpleGrid, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { useRead } from '../../api/queries.ts';
import type { OwnModel } from '../../api/types.ts';
import { AnswerView } from '../../parts/calling/answer-view.tsx';
import { CallChoice, offeredModels } from '../../parts/calling/call-choice.tsx';
import { KeyField } from '../../parts/calling/key-field.tsx';
import { useMessagesName } from '../../parts/calling/messages-name.ts';
import type { CalledOperation } from '../../parts/calling/run-call.ts';
import { useTrialKey } from '../../parts/calling/trial-key.ts';
import { CountField } from '../../parts/forms/number-fields.tsx';
import { isCount } from '../../parts/forms/number-text.ts';
import { type FieldOf, useDraft } from '../../parts/forms/use-draft.ts';
import { usePlaceQuery } from '../../parts/location.ts';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { SmallButton, SmallText } from '../../parts/small.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { CodeSection } from './code-section.tsx';
import {
  bodyOf,
  isTemperature,
  NO_SETTINGS,
  type Said,
  type Settings,
  type Turn,
  usualOutputTokens,
} from './conversation.ts';
import { ImageList, MessageForm } from './message-form.tsx';
import { TemperatureField } from './temperature-field.tsx';
import { playgroundTexts } from './texts.ts';
import { useConversation } from './use-conversation.ts';

const CALLED: readonly CalledOperation[] = ['chat', 'messages'];

export function PlaygroundPage() {
  const text = useTexts(playgroundTexts);
  const models = useRead('GET /account/v1/models', {});
  const plan = useRead('GET /account/v1/plan', {}).data;
  return (
    <Page lead={text.lead}>
      <ReadState read={models} />
      {models.data !== undefined && <Playground models={models.data.data} hasPlan={plan?.isUsable === true} />}
    </Page>
  );
}

interface PlaygroundProps {
  readonly models: readonly OwnModel[];
  readonly hasPlan: boolean;
}

function Playground({ models, hasPlan }: PlaygroundProps) {
  const text = useTexts(playgroundTexts);
  const [query, setQuery] = usePlaceQuery();
  const [context, setContext] = useState<'balance' | 'coding'>('balance');
  const [protocol, setProtocol] = useState<CalledOperation>('chat');
  const [settings, field] = useDraft(() => NO_SETTINGS);
  const { key, setKey } = useTrialKey();
  const { turns, isBusy, send, stop, clear } = useConversation();
  const target = { origin: window.location.origin, context, messagesName: useMessagesName() };
  const offered = offeredModels(models, CALLED, context);
  const model = offered.find(({ id }) => id === query.model) ?? offered[0];
  const operations = CALLED.filter((each) => model?.operations.includes(each));
  const operation = operations.includes(protocol) ? protocol : (operations[0] ?? 'chat');
  /** The body of the last call, for its code. */
  const [lastBody, setLastBody] = useState<{ operation: CalledOperation; body: object } | null>(null);

  function sendAfter(before: readonly Turn[], said: Said): void {
    if (model === undefined) return;
    const body = bodyOf(operation, model, settings, before, said);
    setLastBody({ operation, body });
    send({ target, apiKey: key, operation, body }, said, before);
  }

  return (
    <>
      <Group align="flex-end" gap="md">
        <CallChoice
          hasPlan={hasPlan}
          context={context}
          onContext={setContext}
          offered={offered}
          modelId={model?.id ?? null}
          onModel={(chosen) => setQuery({ model: chosen })}
        />
        {operations.length > 1 && (
          <SegmentedControl
            aria-label={text.protocol}
            value={operation}
            onChange={(value) => setProtocol(value as CalledOperation)}
            data={operations.map((value) => ({ value, label: text.protocols[value] }))}
          />
        )}
        <KeyField value={key} onChange={setKey} />
      </Group>
      {model === undefined && <EmptyState title={text.noModels} hint={text.noModelsHint} />}
      {model !== undefined && query.model !== undefined && query.model !== model.id && (
        <Alert color="yellow">{text.noSuchModel(query.model)}</Alert>
      )}
      {model !== undefined && (
        <Section title={text.settings}>
          <SettingFields field={field} usualTokens={usualOutputTokens(model)} />
        </Section>
      )}
      <Section
        title={text.conversation}
        actions={turns.length > 0 && <SmallButton onClick={clear}>{text.clear}</SmallButton>}
      >
        <Stack>
          {turns.map((turn, index) => (
            <TurnView
              key={turn.id}
              turn={turn}
              onAgain={
                index === turns.length - 1 && !isBusy && key !== '' ? () => sendAfter(turns.slice(0, -1), turn) : null
              }
            />
          ))}
          <MessageForm
            isBusy={isBusy}
            hasKey={key !== ''}
            isReady={model !== undefined && key !== '' && areValid(settings)}
            onSend={(said) => sendAfter(turns, said)}
            onStop={stop}
          />
        </Stack>
      </Section>
      {lastBody !== null && turns.length > 0 && <CodeSection target={target} {...lastBody} />}
    </>
  );
}

function areValid({ temperature, outputTokens }: Settings): boolean {
  return isTemperature(temperature) && (outputTokens === '' || isCount(outputTokens, 1));
}

interface SettingFieldsProps {
  readonly field: FieldOf<Settings>;
  /** The output limit if none is entered. */
  readonly usualTokens: number;
}

function SettingFields({ field, usualTokens }: SettingFieldsProps) {
  const text = useTexts(playgroundTexts);
  const format = useFormat();
  return (
    <Stack gap="sm">
      <Textarea
        label={text.system}
        description={text.systemHint}
        {...field('system')}
        autosize
        minRows={1}
        maxRows={8}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }} maw={560}>
        <TemperatureField {...field('temperature')} />
        <CountField
          label={text.outputLimit}
          description={text.outputLimitHint(format.exactCount(usualTokens))}
          min={1}
          {...field('outputTokens')}
        />
      </SimpleGrid>
    </Stack>
  );
}

interface TurnViewProps {
  readonly turn: Turn;
  /** Sends the message of the turn once more; `null`: it cannot be sent now. */
  readonly onAgain: (() => void) | null;
}

function TurnView({ turn: { prompt, images, answer }, onAgain }: TurnViewProps) {
  const text = useTexts(playgroundTexts);
  return (
    <Stack gap="xs">
      <div>
        <SmallText>{text.you}</SmallText>
        <Text style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{prompt}</Text>
        <ImageList images={images} />
      </div>
      <AnswerView answer={answer} />
      {onAgain !== null && answer.state !== 'done' && (
        <div>
          <Button size="xs" variant="default" onClick={onAgain}>
            {text.again}
          </Button>
        </div>
      )}
    </Stack>
  );
}
