import { NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useRead } from '../../api/queries.ts';
import type { CallerBudget } from '../../api/types.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { fromNano, toNano } from '../../text/yuan.ts';
import { ChangeDialog } from '../forms/change-dialog.tsx';
import { YuanField } from '../forms/number-fields.tsx';
import { isYuan, textOrNull } from '../forms/number-text.ts';
import { useDraft } from '../forms/use-draft.ts';
import { DataTable } from '../list-table.tsx';
import { ReadState } from '../notices.tsx';
import { Section } from '../section.tsx';
import { SmallButton, SmallText } from '../small.ts';
import { callerBudgetTexts } from './caller-budget-texts.ts';
import { limitsTexts } from './texts.ts';

const PERIODS = {
  dailySpendCapYuan: 'dailySpendYuan',
  weeklySpendCapYuan: 'weeklySpendYuan',
  monthlySpendCapYuan: 'monthlySpendYuan',
} as const;
const CAPS = Object.keys(PERIODS) as (keyof typeof PERIODS)[];

interface CallerBudgetsProps {
  /** The account, for operators; `null` for the selected account of an owner. */
  readonly accountId: string | null;
  readonly mayChange: boolean;
}

/** The budgets of end users and tags of an account, with what is used and left. */
export function CallerBudgets({ accountId, mayChange }: CallerBudgetsProps) {
  const text = useTexts(callerBudgetTexts);
  const [chosen, choose] = useState<CallerBudget | 'new' | null>(null);
  const own = useRead('GET /account/v1/caller-budgets', {}, { isWanted: accountId === null });
  const ofAccount = useRead(
    'GET /admin/v1/accounts/{id}/caller-budgets',
    { path: { id: accountId ?? '' } },
    { isWanted: accountId !== null },
  );
  const read = accountId === null ? own : ofAccount;
  const budgets = read.data?.data ?? [];
  const linesOf = useLines();
  return (
    <Section
      title={text.title}
      lead={text.lead}
      actions={mayChange && <SmallButton onClick={() => choose('new')}>{text.add}</SmallButton>}
    >
      <ReadState read={read} />
      {read.data !== undefined && budgets.length === 0 && <Text size="sm">{text.none}</Text>}
      {budgets.length > 0 && (
        <DataTable
          label={text.title}
          items={budgets}
          idOf={({ kind, value }) => `${kind} ${value ?? ''}`}
          columns={[
            { header: text.of, cell: (budget) => <Named budget={budget} /> },
            { header: text.budget, cell: (budget) => linesOf(budget, (cap) => cap) },
            { header: text.used, cell: (budget) => linesOf(budget, (_cap, used) => used) },
            { header: text.left, cell: (budget) => linesOf(budget, leftOf) },
          ]}
          actions={mayChange && ((budget) => <SmallButton onClick={() => choose(budget)}>{text.change}</SmallButton>)}
        />
      )}
      {chosen !== null && (
        <BudgetDialog budget={chosen === 'new' ? null : chosen} accountId={accountId} onClose={() => choose(null)} />
      )}
    </Section>
  );
}

function Named({ budget: { kind, value, isOwn } }: { readonly budget: CallerBudget }) {
  const text = useTexts(callerBudgetTexts);
  const note = value === null ? text.shared : isOwn ? null : text.byDefault;
  return (
    <Stack gap={0}>
      <Text size="sm">{value === null ? text.every[kind] : text.one[kind](value)}</Text>
      {note !== null && <SmallText>{note}</SmallText>}
    </Stack>
  );
}

function leftOf(cap: string, used: string): string {
  const left = toNano(cap) - toNano(used);
  return fromNano(left < 0n ? 0n : left);
}

/** Returns a function that shows an amount of each budget on a line, such as `¥5 a day`. */
function useLines() {
  const { inShort } = useTexts(limitsTexts);
  const format = useFormat();
  return (budget: CallerBudget, amountOf: (cap: string, used: string) => string) =>
    CAPS.flatMap((name) => {
      const cap = budget[name];
      return cap === null ? [] : [inShort[name](format.yuan(amountOf(cap, budget.used[PERIODS[name]])))];
    }).map((line) => (
      <Text key={line} size="sm">
        {line}
      </Text>
    ));
}

interface BudgetDialogProps {
  /** `null`: a new budget. */
  readonly budget: CallerBudget | null;
  readonly accountId: string | null;
  readonly onClose: () => void;
}

/** Sets a budget. For a value under a default budget, it makes one of its own. */
function BudgetDialog({ budget, accountId, onClose }: BudgetDialogProps) {
  const text = useTexts(callerBudgetTexts);
  const limits = useTexts(limitsTexts);
  const [draft, field, set] = useDraft(() => ({
    kind: budget?.kind ?? ('endUser' as const),
    value: budget?.value ?? '',
    dailySpendCapYuan: budget?.dailySpendCapYuan ?? '',
    weeklySpendCapYuan: budget?.weeklySpendCapYuan ?? '',
    monthlySpendCapYuan: budget?.monthlySpendCapYuan ?? '',
  }));
  const body = () => ({
    kind: draft.kind,
    value: textOrNull(draft.value),
    dailySpendCapYuan: textOrNull(draft.dailySpendCapYuan),
    weeklySpendCapYuan: textOrNull(draft.weeklySpendCapYuan),
    monthlySpendCapYuan: textOrNull(draft.monthlySpendCapYuan),
  });
  const areRight = CAPS.every((name) => draft[name] === '' || isYuan(draft[name]));
  return (
    <ChangeDialog
      endpoint={
        accountId === null ? 'PATCH /account/v1/caller-budgets' : 'PATCH /admin/v1/accounts/{id}/caller-budgets'
      }
      title={text.add}
      noValidate
      isOpen
      onClose={onClose}
      input={() => (accountId === null ? { body: body() } : { path: { id: accountId }, body: body() })}
      problem={() => (areRight ? null : limits.incomplete)}
      doneText={text.done}
    >
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <NativeSelect
          label={text.kind}
          value={draft.kind}
          disabled={budget !== null}
          onChange={({ currentTarget }) => set({ kind: currentTarget.value as CallerBudget['kind'] })}
          data={(['endUser', 'tag'] as const).map((kind) => ({ value: kind, label: text.kinds[kind] }))}
        />
        <TextInput label={text.value} description={text.valueHint} disabled={budget !== null} {...field('value')} />
        {CAPS.map((name) => (
          <YuanField key={name} label={limits.limits[name]} {...field(name)} />
        ))}
      </SimpleGrid>
      <SmallText>{text.hint}</SmallText>
    </ChangeDialog>
  );
}
