import { Alert, Badge, Button, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import { AlertIcon, CheckCircleIcon, PlayIcon, SquareIcon } from '@primer/octicons-react';
import type { Audit } from '../../api/types.ts';
import { type AuditRun, startAudit, stopAudit, useAuditRun } from '../../parts/audit-run.ts';
import { Facts } from '../../parts/facts.tsx';
import { Instant, Tile } from '../../parts/figures.tsx';
import { AccountLink } from '../../parts/links.tsx';
import { DataTable } from '../../parts/list-table.tsx';
import { EmptyState, ErrorNotice } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useSession } from '../../session/session.tsx';
import { useFormat } from '../../text/format.ts';
import { useLanguage, useTexts } from '../../text/language.tsx';
import { ownValue } from '../../text/own-value.ts';
import { auditTexts, INVARIANTS_ZH } from './texts.ts';

export function AuditPage() {
  const text = useTexts(auditTexts);
  const { user } = useSession();
  const run = useAuditRun(user.id);
  const isRunning = run.state === 'running';
  const actions = isRunning ? (
    <Button variant="default" leftSection={<SquareIcon />} onClick={stopAudit}>
      {text.stop}
    </Button>
  ) : (
    <Button leftSection={<PlayIcon />} onClick={() => void startAudit(user.id)}>
      {run.state === 'none' ? text.run : text.runAgain}
    </Button>
  );
  return (
    <Page lead={text.lead} actions={actions}>
      <Text size="sm" maw={720}>
        {text.warning}
      </Text>
      {run.state === 'none' && (
        <Section>
          <EmptyState title={text.none} hint={text.noneHint} />
        </Section>
      )}
      {isRunning && <Running run={run} />}
      {run.state === 'stopped' && <Alert color="yellow">{text.stopped}</Alert>}
      <ErrorNotice error={run.error} onRetry={() => void startAudit(user.id)} />
      {run.result !== null && <Result result={run.result} run={run} />}
    </Page>
  );
}

function Running({ run: { progress, beganAt } }: { readonly run: AuditRun }) {
  const text = useTexts(auditTexts);
  const format = useFormat();
  const { accounts = 0, accountsTotal = 0, entries = 0, calls = 0 } = progress ?? {};
  return (
    <Section title={text.running}>
      <Stack>
        <Progress
          value={accountsTotal === 0 ? 0 : (100 * accounts) / accountsTotal}
          aria-label={text.progress}
          animated
          size="lg"
        />
        <SimpleGrid cols={{ base: 1, xs: 3 }}>
          <Tile label={text.accounts}>{text.ofTotal(format.count(accounts), format.count(accountsTotal))}</Tile>
          <Tile label={text.entries}>{format.count(entries)}</Tile>
          <Tile label={text.calls}>{format.count(calls)}</Tile>
        </SimpleGrid>
        <Facts facts={[[text.began, <Instant key="began" at={beganAt} />]]} />
      </Stack>
    </Section>
  );
}

function Result({ result, run }: { readonly result: Audit; readonly run: AuditRun }) {
  const text = useTexts(auditTexts);
  const format = useFormat();
  const nameOf = useInvariantName();
  const broken = result.invariants.filter(({ breaches }) => breaches.length > 0);
  const { isSound } = result;
  return (
    <>
      <Alert
        color={isSound ? 'teal' : 'red'}
        icon={isSound ? <CheckCircleIcon /> : <AlertIcon />}
        title={isSound ? text.sound : text.broken(broken.length)}
        role={isSound ? 'status' : 'alert'}
      >
        {isSound ? text.soundHint(result.invariants.length) : text.brokenHint}
        <Facts
          facts={[
            [text.began, <Instant key="began" at={run.beganAt} />],
            [text.took, format.duration(Date.parse(run.endedAt!) - Date.parse(run.beganAt!))],
          ]}
        />
      </Alert>
      {broken.map(({ invariant, breaches }) => (
        <Section key={invariant} title={nameOf(invariant)} lead={text.breaches(breaches.length)}>
          <DataTable
            label={`${text.breachesOf}: ${nameOf(invariant)}`}
            items={breaches.map((breach, index) => ({ ...breach, id: String(index) }))}
            columns={[
              { header: text.account, cell: ({ accountId }) => <AccountLink accountId={accountId} /> },
              { header: text.detail, cell: ({ detail }) => detail },
            ]}
          />
        </Section>
      ))}
      <Section title={text.invariants}>
        <DataTable
          label={text.invariants}
          items={result.invariants}
          idOf={({ invariant }) => invariant}
          columns={[
            { header: text.invariant, cell: ({ invariant }) => nameOf(invariant) },
            {
              header: text.result,
              cell: ({ breaches }) => (
                <Badge color={breaches.length === 0 ? 'teal' : 'red'}>
                  {breaches.length === 0 ? text.holds : text.breaches(breaches.length)}
                </Badge>
              ),
            },
          ]}
        />
      </Section>
    </>
  );
}

function useInvariantName(): (invariant: string) => string {
  const { language } = useLanguage();
  return (invariant) => {
    const named = language === 'zh' ? (ownValue(INVARIANTS_ZH, invariant) ?? invariant) : invariant;
    return named.charAt(0).toUpperCase() + named.slice(1);
  };
}
