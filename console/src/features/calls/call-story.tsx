import { Alert, Badge, Group, SimpleGrid, Stack, Text, Timeline } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Call, OwnCall } from '../../api/types.ts';
import { callerTexts } from '../../parts/calls/caller-texts.ts';
import { useOperationName } from '../../parts/calls/operation-name.ts';
import { StatusBadge } from '../../parts/calls/status-badge.tsx';
import { CopyText } from '../../parts/copy.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Instant, Yuan } from '../../parts/figures.tsx';
import { Section } from '../../parts/section.tsx';
import { DimmedText } from '../../parts/small.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { ownValue } from '../../text/own-value.ts';
import { Attempts, WhyFailed } from './attempts.tsx';
import { storyTexts } from './call-story-texts.ts';
import { ChargeTable } from './charge-table.tsx';
import { type Correction, correctionsOf } from './corrections.ts';
import { unitTexts } from './unit-texts.ts';

interface CallStoryProps {
  readonly call: OwnCall | Call;
  /** Replaces the ids of the key and the account, for example with links. */
  readonly keyShown?: ReactNode;
  readonly accountShown?: ReactNode;
}

export function CallStory({ call, keyShown, accountShown }: CallStoryProps) {
  const text = useTexts(storyTexts);
  const caller = useTexts(callerTexts);
  const operationName = useOperationName();
  const forOperators = 'route' in call ? call : null;
  return (
    <Stack>
      <Group gap="xs">
        <StatusBadge status={call.status} />
        {call.httpStatus !== null && <Badge variant="default">{text.status(call.httpStatus)}</Badge>}
        {call.errorCode !== null && (
          <Badge color="red">
            {text.error}
            {text.colon}
            {call.errorCode}
          </Badge>
        )}
      </Group>
      {call.attempts.length === 0 && isExplained(call.errorCode) && <Text>{text.errors[call.errorCode]}</Text>}
      <WhyFailed call={call} />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Section title={text.asked}>
          <Facts
            facts={[
              [text.model, call.model],
              [text.operation, operationName(call.operation)],
              [text.paidBy, call.context === 'coding' ? text.coding : text.balance],
              [text.stream, call.isStream ? text.yes : text.no],
              [text.key, keyShown ?? call.keyName ?? call.keyId],
              [text.account, forOperators === null ? null : (accountShown ?? call.accountId)],
              [
                text.route,
                forOperators === null ? null : `${forOperators.route.provider} · ${forOperators.route.model}`,
              ],
              [text.askedModel, call.fallback && text.fellBack(call.fallback.asked, call.fallback.reason)],
              [text.translated, call.translation?.to],
              [text.leftOut, call.translation?.leftOut.join(', ') || null],
              [text.added, call.translation?.added.join(', ') || null],
              [
                text.triedBefore,
                // Records of earlier versions have no attempts.
                forOperators === null || call.attempts.length > 0 || forOperators.failedRoutes.length === 0
                  ? null
                  : forOperators.failedRoutes.map(({ provider, model, error }) => (
                      <div key={`${provider} ${model}`}>{`${provider} · ${model}${text.colon}${error}`}</div>
                    )),
              ],
              [text.call, <CopyText key="call" value={call.id} />],
              [text.requestId, <CopyText key="request" value={call.gatewayRequestId} />],
              [
                text.providerRequestId,
                call.requestId === call.gatewayRequestId ? null : <CopyText key="provider" value={call.requestId} />,
              ],
              [
                text.clientRequestId,
                call.clientRequestId === null ? null : <CopyText key="client" value={call.clientRequestId} />,
              ],
              [caller.endUser, call.endUser],
              [caller.tags, call.tags.length === 0 ? null : call.tags.join(text.comma)],
              [caller.program, call.program],
              [caller.clientAddress, call.clientAddress],
            ]}
          />
        </Section>
        <Section title={text.happened}>
          <Course call={call} />
        </Section>
      </SimpleGrid>
      <Attempts call={call} />
      <Section title={text.used}>
        <Used call={call} />
      </Section>
      <Section title={text.price}>
        <ChargeTable call={call} />
      </Section>
    </Stack>
  );
}

/** The events of the call in order, from admission to corrections by an operator. */
function Course({ call }: { readonly call: OwnCall | Call }) {
  const text = useTexts(storyTexts);
  const format = useFormat();
  const corrections = correctionsOf(call);
  return (
    <Timeline bulletSize={14} lineWidth={2} active={3 + corrections.length}>
      <Timeline.Item title={text.admitted}>
        <DimmedText component="div">
          <Instant at={call.startedAt} />
          {call.heldYuan !== null && (
            <>
              {' · '}
              <Yuan amount={call.heldYuan} isShort />
            </>
          )}
          {call.heldTokens !== null && ` · ${text.heldTokens(format.count(call.heldTokens))}`}
        </DimmedText>
      </Timeline.Item>
      {call.firstByteMs !== null && <Timeline.Item title={text.firstByte(format.duration(call.firstByteMs))} />}
      <Timeline.Item title={text.ended(format.duration(call.durationMs))}>
        <DimmedText component="div">
          <Instant at={call.endedAt} />
        </DimmedText>
      </Timeline.Item>
      {corrections.map((correction, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: corrections keep their order
        <Timeline.Item key={place} title={<CorrectionTitle correction={correction} />}>
          <DimmedText component="div">
            <Instant at={correction.at} />
            {correction.note !== null && <div>{correction.note}</div>}
          </DimmedText>
        </Timeline.Item>
      ))}
    </Timeline>
  );
}

function CorrectionTitle({ correction }: { readonly correction: Correction }) {
  const text = useTexts(storyTexts);
  const format = useFormat();
  if (correction.kind === 'refunded') return text.refundOf(format.yuan(correction.amountYuan));
  switch (correction.action) {
    case 'charge':
      return text.resolvedCharge(format.yuan(correction.amountYuan ?? '0'));
    case 'count':
      return text.resolvedCount(format.count(correction.tokens ?? 0));
    case 'release':
      return text.resolvedRelease;
  }
}

function Used({ call }: { readonly call: OwnCall | Call }) {
  const text = useTexts(storyTexts);
  const units = useTexts(unitTexts) as Readonly<Record<string, string>>;
  const format = useFormat();
  if (call.usage === null) return <Text c="dimmed">{text.nothingUsed}</Text>;
  const { source, ...counts } = call.usage;
  const excess = Object.entries(call.excessUsage ?? {}).filter(([, count]) => (count ?? 0) > 0);
  const counted = Object.entries(counts).filter(([, count]) => count > 0);
  return (
    <Stack gap="xs">
      <Group gap="lg">
        {counted.map(([unit, count]) => (
          <div key={unit}>
            <Text size="xl" fw={700} className="figure">
              {format.count(count)}
            </Text>
            <DimmedText>{ownValue(units, unit) ?? unit}</DimmedText>
          </div>
        ))}
      </Group>
      <DimmedText>{source === 'observed' ? text.observed : text.estimated}</DimmedText>
      {call.doubtedUsage.length > 0 && <Alert color="yellow">{text.doubted}</Alert>}
      {excess.length > 0 && (
        <Alert color="yellow" title={text.excess}>
          {excess
            .map(([unit, count]) => `${format.count(count ?? 0)} ${ownValue(units, unit) ?? unit}`)
            .join(text.comma)}
        </Alert>
      )}
      {'unpriced' in call && call.unpriced.length > 0 && (
        <Alert color="yellow" title={text.unpriced}>
          {call.unpriced.join(', ')}
        </Alert>
      )}
    </Stack>
  );
}

type ExplainedError = keyof typeof storyTexts.en.errors;

function isExplained(code: string | null): code is ExplainedError {
  return code !== null && Object.hasOwn(storyTexts.en.errors, code);
}
