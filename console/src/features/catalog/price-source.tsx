import { Alert, Button, List, Stack, Text } from '@mantine/core';
import { useChange, useRead } from '../../api/queries.ts';
import type { PriceSourceRead } from '../../api/types.ts';
import { ChangeList } from '../../parts/catalog/change-list.tsx';
import { Examples } from '../../parts/catalog/examples.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Instant } from '../../parts/figures.tsx';
import { GatewayMessage } from '../../parts/gateway-message.tsx';
import { ErrorNotice } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { priceSourceTexts } from './price-source-texts.ts';

/** The source that prices follow, if the catalog has one, and a read of it at once. */
export function PriceSourceSection({ mayOperate }: { readonly mayOperate: boolean }) {
  const text = useTexts(priceSourceTexts);
  const read = useRead('GET /admin/v1/catalog/price-source', {}, { isLive: true });
  const { mutate, isPending, error, data } = useChange('POST /admin/v1/catalog/price-source/read');
  if (read.data === undefined || read.data.source === null) return <ErrorNotice error={read.error} />;
  const { source, lastRead } = read.data;
  const { address, every, usdCny, marginPercent, applyBelowPercent } = source;
  return (
    <Section
      title={text.title}
      actions={
        mayOperate && (
          <Button size="xs" variant="default" loading={isPending} onClick={() => mutate({})}>
            {text.readNow}
          </Button>
        )
      }
    >
      <Stack gap="sm">
        <Facts
          facts={[
            [
              text.address,
              <span key="address" style={{ overflowWrap: 'anywhere' }}>
                {address}
              </span>,
            ],
            [text.terms, text.termsOf(every, usdCny, marginPercent)],
            [
              text.applies,
              applyBelowPercent === null ? text.neverApplies : text.appliesBelow(String(applyBelowPercent)),
            ],
            [
              text.lastRead,
              lastRead && (
                <span key="lastRead">
                  <Instant at={lastRead.startedAt} isRelative /> ·{' '}
                  {lastRead.outcome === null ? text.reading : text.outcomes[lastRead.outcome]}
                  {lastRead.revision !== null && ` (${lastRead.revision})`}
                </span>
              ),
            ],
          ]}
        />
        {data === undefined && lastRead?.outcome === 'failed' && <Failure message={lastRead.message} />}
        <ErrorNotice error={error} isOfChange />
        {data !== undefined && !isPending && <ReadResult read={data} />}
      </Stack>
    </Section>
  );
}

function Failure({ message }: Pick<PriceSourceRead, 'message'>) {
  const text = useTexts(priceSourceTexts);
  return (
    <Alert color="red" title={text.outcomes.failed} role="alert">
      {message !== null && <GatewayMessage>{message}</GatewayMessage>} {text.pricesStay}
    </Alert>
  );
}

function ReadResult({ read }: { readonly read: PriceSourceRead }) {
  const text = useTexts(priceSourceTexts);
  const { outcome, message, revision, changes, examples, notFollowed } = read;
  if (outcome === 'failed') return <Failure message={message} />;
  return (
    <Stack gap="sm">
      <Text size="sm" role="status">
        {text.outcomes[outcome]}
        {revision !== null && ` (${revision})`}
      </Text>
      {(changes === null || changes.length > 0) && <ChangeList changes={changes} />}
      <Examples examples={examples} />
      {notFollowed.length > 0 && (
        <div>
          <Text size="sm" fw={500}>
            {text.notFollowed}
          </Text>
          <List size="sm" withPadding>
            {notFollowed.map(({ model, why }) => (
              <List.Item key={`${model} ${why}`}>
                {model}
                {text.colon}
                {why}
              </List.Item>
            ))}
          </List>
        </div>
      )}
    </Stack>
  );
}
