import { Alert, Anchor } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { PageProps } from '../../layout/console-page.ts';
import { useKeyNames } from '../../parts/keys/own-key-names.ts';
import { ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { useTexts } from '../../text/language.tsx';
import { CallStory } from './call-story.tsx';
import { callsTexts } from './own-texts.ts';

export function CallPage({ id }: PageProps) {
  const text = useTexts(callsTexts);
  const keyNames = useKeyNames();
  const call = useRead('GET /account/v1/calls/{id}', { path: { id } });
  return (
    <Page title={call.data?.model ?? id} lead={<Anchor href="#/calls">{text.allCalls}</Anchor>}>
      <ReadState read={call} />
      {call.data?.status === 'unresolved' && (
        <Alert color="orange" title={text.open}>
          {text.openHint}
        </Alert>
      )}
      {call.data !== undefined && (
        <CallStory call={call.data} keyShown={call.data.keyName ?? keyNames.get(call.data.keyId)} />
      )}
    </Page>
  );
}
