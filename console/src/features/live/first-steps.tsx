import { Anchor, Button, List, Stack, Text } from '@mantine/core';
import { CheckCircleIcon } from '@primer/octicons-react';
import { useRead } from '../../api/queries.ts';
import { CodeBlock } from '../../parts/copy.tsx';
import { DIALOG, DIALOG_OF, hashOf } from '../../parts/location.ts';
import { Section } from '../../parts/section.tsx';
import { DimmedText } from '../../parts/small.ts';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { type FirstSteps, nextStep, STEPS, type Step } from './steps.ts';
import { liveTexts } from './texts.ts';

/** The state of an installation without calls; `null` if it has some, or if that is unknown. */
export function useFirstSteps(): FirstSteps | null {
  const mayOperate = useMayOperate();
  const calls = useRead('GET /admin/v1/calls', { query: { limit: 1 } }, { isLive: true }).data?.data;
  const isWanted = mayOperate && calls?.length === 0;
  const options = { isLive: true, isWanted };
  const routes = useRead('GET /admin/v1/routes', {}, options).data?.data;
  const config = useRead('GET /admin/v1/config', {}, options).data?.config;
  const accounts = useRead('GET /admin/v1/accounts', { query: { limit: 1 } }, options).data?.data;
  const accountId = accounts?.[0]?.id ?? null;
  const keys = useRead(
    'GET /admin/v1/accounts/{id}/keys',
    { path: { id: accountId ?? '' }, query: { limit: 1 } },
    { isLive: true, isWanted: isWanted && accountId !== null },
  ).data?.data;
  if (!isWanted || routes === undefined || config === undefined || accounts === undefined) return null;
  if (accountId !== null && keys === undefined) return null;
  const done = new Set<Step>();
  if (routes.length > 0 || hasProvider(config)) done.add('provider');
  if (routes.length > 0) done.add('model');
  if (accountId !== null) done.add('account');
  if (keys !== undefined && keys.length > 0) done.add('key');
  return { done, accountId, model: routes[0]?.model ?? null, provider: routes[0]?.provider ?? null };
}

function hasProvider(config: unknown): boolean {
  const { providers } = config as { readonly providers?: object };
  return Object.keys(providers ?? {}).length > 0;
}

export function FirstStepsSection({ steps }: { readonly steps: FirstSteps }) {
  const text = useTexts(liveTexts);
  const next = nextStep(steps);
  return (
    <Section title={text.firstSteps} lead={text.firstStepsLead}>
      <List type="ordered" spacing="md">
        {STEPS.map((step) => (
          <List.Item key={step}>
            {step === next && step !== 'call' ? (
              <Button component="a" href={placeOf(step, steps)} size="compact-md">
                {text.steps[step].do}
              </Button>
            ) : (
              <Anchor href={placeOf(step, steps)}>{text.steps[step].do}</Anchor>
            )}{' '}
            {steps.done.has(step) && (
              <Text span c="var(--mantine-color-teal-text)">
                <CheckCircleIcon aria-label={text.stepDone} />
              </Text>
            )}
            <DimmedText>{text.steps[step].hint}</DimmedText>
            {step === 'call' && next === 'call' && steps.model !== null && <FirstCall model={steps.model} />}
          </List.Item>
        ))}
      </List>
    </Section>
  );
}

/** Where a step is taken: the dialog itself, if there is one. */
function placeOf(step: Step, { accountId, provider }: FirstSteps): string {
  const dialog = { [DIALOG]: 'new' };
  switch (step) {
    case 'provider':
      return hashOf('/operator/providers', dialog);
    case 'model':
      return hashOf('/operator/models', dialog);
    case 'account':
      return hashOf('/operator/accounts', dialog);
    case 'key':
      if (accountId === null) return hashOf('/operator/accounts', dialog);
      return hashOf(`/operator/accounts/${accountId}`, { tab: 'keys', ...dialog });
    case 'call':
      return hashOf('/operator/providers', provider === null ? {} : { [DIALOG]: 'test', [DIALOG_OF]: provider });
  }
}

function FirstCall({ model }: { readonly model: string }) {
  const text = useTexts(liveTexts);
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] });
  const code = [
    `curl ${window.location.origin}/v1/chat/completions \\`,
    '  -H "Authorization: Bearer sk-fg-…" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '${body.replaceAll("'", "'\\''")}'`,
  ].join('\n');
  return (
    <Stack gap={4} mt="xs">
      <CodeBlock code={code} label={text.steps.call.do} />
      <DimmedText>{text.firstCallHint}</DimmedText>
    </Stack>
  );
}
