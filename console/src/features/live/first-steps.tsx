import { Anchor, List, Text } from '@mantine/core';
import { CheckCircleIcon } from '@primer/octicons-react';
import { useRead } from '../../api/queries.ts';
import { hashOf } from '../../parts/location.ts';
import { Section } from '../../parts/section.tsx';
import { DimmedText } from '../../parts/small.ts';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { liveTexts } from './texts.ts';

const STEPS = [
  ['provider', '/operator/providers'],
  ['model', '/operator/models'],
  ['account', '/operator/accounts'],
  ['key', '/operator/accounts'],
  ['call', '/operator/providers'],
] as const;

type Step = (typeof STEPS)[number][0];

/** The completed steps of an installation that cannot serve a call yet; `null` if it can, or if that is unknown. */
export function useFirstSteps(): ReadonlySet<Step> | null {
  const mayOperate = useMayOperate();
  const routes = useRead('GET /admin/v1/routes', {}, { isLive: true }).data?.data;
  const config = useRead('GET /admin/v1/config', {}, { isLive: true }).data?.config;
  const accounts = useRead('GET /admin/v1/accounts', { query: { limit: 1 } }).data?.data;
  if (!mayOperate || routes === undefined || config === undefined || accounts === undefined) return null;
  if (routes.length > 0 && accounts.length > 0) return null;
  const done = new Set<Step>();
  if (routes.length > 0 || hasProvider(config)) done.add('provider');
  if (routes.length > 0) done.add('model');
  if (accounts.length > 0) done.add('account');
  return done;
}

function hasProvider(config: unknown): boolean {
  const { providers } = config as { readonly providers?: object };
  return Object.keys(providers ?? {}).length > 0;
}

export function FirstSteps({ done }: { readonly done: ReadonlySet<Step> }) {
  const text = useTexts(liveTexts);
  return (
    <Section title={text.firstSteps} lead={text.firstStepsLead}>
      <List type="ordered" spacing="xs">
        {STEPS.map(([step, path]) => (
          <List.Item key={step}>
            <Anchor href={hashOf(path)}>{text.steps[step].do}</Anchor>{' '}
            {done.has(step) && (
              <Text span c="var(--mantine-color-teal-text)">
                <CheckCircleIcon aria-label={text.stepDone} />
              </Text>
            )}
            <DimmedText>{text.steps[step].hint}</DimmedText>
          </List.Item>
        ))}
      </List>
    </Section>
  );
}
