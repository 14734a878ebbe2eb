import { Anchor, Group, Stack, Text } from '@mantine/core';
import { AlertIcon, CheckCircleIcon, type Icon, InfoIcon } from '@primer/octicons-react';
import type { ReactNode } from 'react';
import type { ResponseOf } from '../../api/client.ts';
import { useRead } from '../../api/queries.ts';
import { type AuditRun, useAuditRun } from '../../parts/audit-run.ts';
import { Instant } from '../../parts/figures.tsx';
import { GatewayMessage } from '../../parts/gateway-message.tsx';
import { hashOf } from '../../parts/location.ts';
import { ErrorNotice } from '../../parts/notices.tsx';
import { isUnhealthy } from '../../parts/route-health.ts';
import { Section } from '../../parts/section.tsx';
import { SmallText } from '../../parts/small.ts';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { liveTexts } from './texts.ts';

/** Routes listed by name; the rest are counted. */
const ROUTES_SHOWN = 5;
/** Open requests for invoices above this number are not counted. */
const INVOICES_COUNTED = 50;

export function Attention() {
  const text = useTexts(liveTexts);
  const { user } = useSession();
  const run = useAuditRun(user.id);
  const routes = useRead('GET /admin/v1/routes', {}, { isLive: true });
  const config = useRead('GET /admin/v1/config', {}, { isLive: true });
  const query = { state: 'open', limit: INVOICES_COUNTED } as const;
  const invoices = useRead('GET /admin/v1/invoice-requests', { query }, { isLive: true }).data;
  const hasWord =
    (invoices?.data.length ?? 0) > 0 ||
    routes.data?.data.some(isUnhealthy) ||
    (routes.data?.drains.length ?? 0) > 0 ||
    (config.data !== undefined && (config.data.lastError !== null || config.data.needsRestart.length > 0));
  return (
    <Section title={text.attention}>
      <Stack gap="xs">
        <ErrorNotice error={routes.error ?? config.error} />
        {routes.data !== undefined && <RouteLines status={routes.data} />}
        {config.data !== undefined && <ConfigLines config={config.data} />}
        {invoices !== undefined && invoices.data.length > 0 && (
          <Line icon={InfoIcon} color="orange" link={{ label: text.toInvoices, path: '/operator/invoices?state=open' }}>
            {text.openInvoices(invoices.data.length, invoices.nextCursor !== null)}
          </Line>
        )}
        {!hasWord && routes.data !== undefined && config.data !== undefined && (
          <Line icon={CheckCircleIcon} color="teal">
            {text.allWell}
          </Line>
        )}
        <AuditLine run={run} />
      </Stack>
    </Section>
  );
}

function RouteLines({ status }: { readonly status: ResponseOf<'GET /admin/v1/routes'> }) {
  const text = useTexts(liveTexts);
  const broken = status.data.filter(isUnhealthy);
  const link = { label: text.toRoutes, path: '/operator/routes' };
  return (
    <>
      {broken.slice(0, ROUTES_SHOWN).map(({ model, provider, providerModel, lastError }) => (
        <Line
          key={`${model} ${provider} ${providerModel}`}
          icon={AlertIcon}
          color="red"
          detail={lastError === null ? null : <GatewayMessage>{lastError}</GatewayMessage>}
          link={link}
        >
          {text.brokenRoute(model, provider)}
        </Line>
      ))}
      {broken.length > ROUTES_SHOWN && (
        <Line icon={AlertIcon} color="red" link={link}>
          {text.more(broken.length - ROUTES_SHOWN)}
        </Line>
      )}
      {status.drains.map(({ provider, model, providerModel, reason, since }) => {
        const what = [provider, model, providerModel].filter((part) => part !== null).join(' / ');
        return (
          <Line
            key={what}
            icon={InfoIcon}
            color="orange"
            detail={
              <>
                {reason !== null && `${reason} · `}
                <Instant at={since} isRelative />
              </>
            }
            link={link}
          >
            {text.drained(what)}
          </Line>
        );
      })}
    </>
  );
}

function ConfigLines({ config: { lastError, needsRestart } }: { readonly config: ResponseOf<'GET /admin/v1/config'> }) {
  const text = useTexts(liveTexts);
  const link = { label: text.toConfig, path: '/operator/config' };
  return (
    <>
      {lastError !== null && (
        <Line icon={AlertIcon} color="red" detail={lastError.message} link={link}>
          {text.configRefused}
        </Line>
      )}
      {needsRestart.length > 0 && (
        <Line icon={InfoIcon} color="orange" link={link}>
          {text.needsRestart(needsRestart.join(', '))}
        </Line>
      )}
    </>
  );
}

function AuditLine({ run }: { readonly run: AuditRun }) {
  const text = useTexts(liveTexts);
  const link = { label: text.toAudit, path: '/operator/audit' };
  const at = run.endedAt === null ? undefined : <Instant at={run.endedAt} isRelative />;
  if (run.state === 'ended') {
    const isSound = run.result!.isSound;
    return (
      <Line icon={isSound ? CheckCircleIcon : AlertIcon} color={isSound ? 'teal' : 'red'} detail={at} link={link}>
        {isSound ? text.auditSound : text.auditBroken}
      </Line>
    );
  }
  const said = {
    none: text.auditNone,
    running: text.auditRunning,
    stopped: text.auditNoResult,
    failed: text.auditNoResult,
  };
  return (
    <Line icon={InfoIcon} color="gray" detail={at} link={link}>
      {said[run.state]}
    </Line>
  );
}

interface LineProps {
  readonly icon: Icon;
  readonly color: string;
  readonly detail?: ReactNode;
  readonly link?: { readonly label: string; readonly path: string };
  readonly children: ReactNode;
}

function Line({ icon: LineIcon, color, detail, link, children }: LineProps) {
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <Text component="span" c={`var(--mantine-color-${color}-text)`} style={{ flexShrink: 0 }} aria-hidden>
        <LineIcon />
      </Text>
      <div style={{ flex: 1, minWidth: 0, overflowWrap: 'anywhere' }}>
        <Text size="sm">{children}</Text>
        {detail !== undefined && detail !== null && (
          <SmallText component="div" lineClamp={2}>
            {detail}
          </SmallText>
        )}
      </div>
      {link !== undefined && (
        <Anchor size="sm" href={hashOf(link.path)} style={{ flexShrink: 0 }}>
          {link.label}
        </Anchor>
      )}
    </Group>
  );
}
