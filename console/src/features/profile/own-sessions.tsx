import { Badge, Stack, Text } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import { Instant } from '../../parts/figures.tsx';
import { ConfirmButton } from '../../parts/forms/confirm-button.tsx';
import { DataTable } from '../../parts/list-table.tsx';
import { ReadState } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { browserOf } from './browser-name.ts';
import { profileTexts } from './texts.ts';

export function OwnSessions() {
  const text = useTexts(profileTexts);
  const read = useRead('GET /account/v1/sessions', {});
  const sessions = read.data?.data ?? [];
  return (
    <Section
      title={text.sessions}
      lead={text.sessionsLead}
      actions={
        sessions.length > 1 && (
          <ConfirmButton
            label={text.endOthers}
            question={text.endOthersQuestion}
            endpoint="DELETE /account/v1/sessions"
            input={{ query: { keepThis: 'true' } }}
            doneText={text.othersEnded}
          />
        )
      }
    >
      <ReadState read={read} />
      {sessions.length > 0 && (
        <DataTable
          label={text.sessions}
          items={sessions}
          columns={[
            {
              header: text.browser,
              cell: ({ userAgent, isThisOne }) => (
                <Stack gap={2} align="flex-start">
                  <Text size="sm" fw={600} title={userAgent ?? undefined}>
                    {browserOf(userAgent) ?? text.unknownBrowser}
                  </Text>
                  {isThisOne && <Badge color="teal">{text.thisOne}</Badge>}
                </Stack>
              ),
            },
            { header: text.address, cell: ({ clientAddress }) => clientAddress ?? '–' },
            { header: text.began, cell: ({ createdAt }) => <Instant at={createdAt} isRelative /> },
            { header: text.lastSeen, cell: ({ lastSeenAt }) => <Instant at={lastSeenAt} isRelative /> },
            { header: text.ends, cell: ({ expiresAt }) => <Instant at={expiresAt} isRelative /> },
          ]}
          actions={({ id, isThisOne }) =>
            !isThisOne && (
              <ConfirmButton
                label={text.end}
                question={text.endQuestion}
                endpoint="DELETE /account/v1/sessions/{id}"
                input={{ path: { id } }}
                doneText={text.ended}
              />
            )
          }
        />
      )}
    </Section>
  );
}
