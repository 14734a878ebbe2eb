import { Alert, Anchor, Button, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { ApiError } from '../../api/client.ts';
import { useRead } from '../../api/queries.ts';
import type { Call } from '../../api/types.ts';
import type { PageProps } from '../../layout/console-page.ts';
import { isRefundable, RefundDialog } from '../../parts/calls/refund-dialog.tsx';
import { refundTexts } from '../../parts/calls/refund-texts.ts';
import { Facts } from '../../parts/facts.tsx';
import { Yuan } from '../../parts/figures.tsx';
import { AccountLink } from '../../parts/links.tsx';
import { hashOf } from '../../parts/location.ts';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { CallStory } from './call-story.tsx';
import { operatorCallsTexts } from './operator-texts.ts';
import { ResolutionButton } from './resolution-dialog.tsx';

export function OperatorCallPage({ id }: PageProps) {
  const text = useTexts(operatorCallsTexts);
  const read = useRead('GET /admin/v1/calls/{id}', { path: { id } });
  const call = read.data;
  const isUnknown = read.error instanceof ApiError && read.error.status === 404;
  return (
    <Page title={text.call} actions={call !== undefined && <Corrections call={call} />}>
      {isUnknown ? (
        <EmptyState
          title={text.noCall}
          hint={text.noCallHint}
          action={<Anchor href={hashOf('/operator/calls', { status: 'in_flight' })}>{text.inFlight}</Anchor>}
        />
      ) : (
        <ReadState read={read} />
      )}
      {call !== undefined && (
        <>
          {call.status === 'unresolved' && <WhatToDo />}
          <CallStory
            call={call}
            accountShown={<AccountLink accountId={call.accountId} name={call.accountName} />}
            keyShown={
              <Anchor size="sm" href={hashOf('/operator/calls', { keyId: call.keyId })} title={call.keyId}>
                {call.keyName ?? call.keyId}
              </Anchor>
            }
          />
          <ForOperators call={call} />
        </>
      )}
    </Page>
  );
}

function WhatToDo() {
  const text = useTexts(operatorCallsTexts);
  return (
    <Alert color="orange" title={text.open}>
      <Text size="sm">{text.openHint}</Text>
      <Anchor size="sm" href={hashOf('/operator/unresolved')}>
        {text.allUnresolved}
      </Anchor>
    </Alert>
  );
}

function Corrections({ call }: { readonly call: Call }) {
  const text = useTexts(refundTexts);
  const mayOperate = useMayOperate();
  const [isRefunding, refund] = useDisclosure(false);
  if (!mayOperate) return null;
  return (
    <>
      {call.status === 'unresolved' && <ResolutionButton call={call} />}
      {isRefundable(call) && (
        <Button variant="default" onClick={refund.open}>
          {text.refund}
        </Button>
      )}
      <RefundDialog callId={isRefunding ? call.id : null} onClose={refund.close} />
    </>
  );
}

/** Details hidden from account holders: the cost, and who resolved the call. */
function ForOperators({ call }: { readonly call: Call }) {
  const text = useTexts(operatorCallsTexts);
  const { resolution } = call;
  return (
    <Section title={text.forOperators}>
      <Facts
        facts={[
          [text.cost, call.costYuan === null ? text.notKnown : <Yuan key="cost" amount={call.costYuan} />],
          [text.resolvedBy, resolution === null ? null : (resolution.by ?? resolution.via)],
        ]}
      />
      <Group mt="xs">
        <Text size="sm">
          <Anchor href={hashOf('/operator/changes', { subjectId: call.id })}>{text.changesOfCall}</Anchor>
        </Text>
      </Group>
    </Section>
  );
}
