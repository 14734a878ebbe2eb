import { Stack, Text } from '@mantine/core';
import type { ProviderLimit, Route } from '../../api/types.ts';
import { Instant } from '../../parts/figures.tsx';
import { DataTable } from '../../parts/list-table.tsx';
import { Section } from '../../parts/section.tsx';
import { SmallText } from '../../parts/small.ts';
import { percentSpent, UsedBar } from '../../parts/usage/used-bar.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { limitTexts } from './limit-texts.ts';
import { routesTexts } from './texts.ts';

/** The limits of providers, routes and credentials, with what is used; nothing if there are none. */
export function Limits({ limits }: { readonly limits: readonly ProviderLimit[] }) {
  const text = useTexts(limitTexts);
  if (limits.length === 0) return null;
  return (
    <Section title={text.limits} lead={text.limitsLead}>
      <DataTable
        label={text.limits}
        items={limits}
        idOf={({ of, provider, model, providerModel, credential }) =>
          [of, provider, model, providerModel, credential].join(' ')
        }
        columns={[
          { header: text.limitOf, cell: (limit) => <Limited limit={limit} /> },
          { header: text.use, cell: (limit) => <Used limit={limit} /> },
        ]}
      />
    </Section>
  );
}

function Limited({ limit }: { readonly limit: ProviderLimit }) {
  const text = useTexts(limitTexts);
  const name = useLimitedName();
  return (
    <>
      {name(limit)}
      <SmallText component="div">{text.of[limit.of]}</SmallText>
    </>
  );
}

function useLimitedName(): (limit: ProviderLimit) => string {
  const text = useTexts(routesTexts);
  return ({ of, provider, model, providerModel, credential }) => {
    if (of === 'route') return text.scopeRoute(provider, model ?? '', providerModel ?? '');
    return of === 'credential' ? `${provider}${text.colon}${credential}` : provider;
  };
}

function Used({ limit }: { readonly limit: ProviderLimit }) {
  const text = useTexts(limitTexts);
  const format = useFormat();
  const name = useLimitedName()(limit);
  return (
    <Stack gap="xs" miw={{ base: 160, sm: 260 }} maw={420}>
      {limit.rates.map(({ kind, used, max, freeAt }) => (
        <UseOfLimit
          key={kind}
          label={`${name} · ${text[kind]}`}
          said={text.usedOf(text[kind], format.count(used), format.count(max))}
          percent={Math.min(100, (used / max) * 100)}
          until={freeAt}
          untilLabel={text.free}
        />
      ))}
      {limit.budgets.map(({ kind, usedYuan, maxYuan, endsAt }) => (
        <UseOfLimit
          key={kind}
          label={`${name} · ${text[kind]}`}
          said={text.usedOf(text[kind], format.yuan(usedYuan), format.yuan(maxYuan))}
          percent={percentSpent(usedYuan, maxYuan)}
          until={endsAt}
          untilLabel={text.renewed}
        />
      ))}
    </Stack>
  );
}

interface UseOfLimitProps {
  readonly label: string;
  readonly said: string;
  readonly percent: number;
  readonly until: string | null;
  readonly untilLabel: string;
}

function UseOfLimit({ label, said, percent, until, untilLabel }: UseOfLimitProps) {
  const text = useTexts(limitTexts);
  return (
    <div>
      <Text size="sm">{said}</Text>
      <UsedBar label={label} percent={percent} />
      {until !== null && (
        <SmallText component="div" mt={2}>
          {untilLabel}
          {text.colon}
          <Instant at={until} />
        </SmallText>
      )}
    </div>
  );
}

type VendorLimit = Route['credentials'][number]['vendorLimits'][number];

/** What a vendor says is left of its limits for a credential and a model. */
export function VendorLimits({ limits }: { readonly limits: readonly VendorLimit[] }) {
  const text = useTexts(limitTexts);
  const format = useFormat();
  return limits.map(({ of, max, remaining, resetAt }) => {
    const left = format.count(remaining);
    return (
      <SmallText key={of} component="div">
        {max === null
          ? text.vendorLeft(text.vendor[of], left)
          : text.vendorLeftOf(text.vendor[of], left, format.count(max))}
        {resetAt !== null && (
          <>
            {' · '}
            {text.vendorReset}
            {text.colon}
            <Instant at={resetAt} />
          </>
        )}
      </SmallText>
    );
  });
}
