import { MultiSelect, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { CatalogDialog } from '../../parts/catalog/catalog-dialog.tsx';
import { type Fields, textOf, textsOf } from '../../parts/catalog/catalog-value.ts';
import type { CatalogEdit } from '../../parts/catalog/edits.ts';
import { editedMembers, filled, numberOrText } from '../../parts/catalog/edits.ts';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { CountField, YuanField } from '../../parts/forms/number-fields.tsx';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { useTexts } from '../../text/language.tsx';
import { plansTexts } from './offered-texts.ts';
import { planTexts } from './texts.ts';

const COUNTS = [
  'fiveHourCalls',
  'weeklyCalls',
  'concurrency',
  'quotaTokens',
  'periodDays',
  'outputTokenLimit',
] as const;
type Count = (typeof COUNTS)[number];

interface PlanDraft extends Readonly<Record<Count, string>> {
  readonly id: string;
  readonly name: string;
  readonly priceYuan: string;
  readonly inputByteLimit: string;
  readonly models: readonly string[];
}

function planDraft(id: string, fields: Fields): PlanDraft {
  const counts = Object.fromEntries(COUNTS.map((count) => [count, textOf(fields[count])])) as Record<Count, string>;
  return {
    ...counts,
    id,
    name: textOf(fields.name),
    priceYuan: textOf(fields.priceYuan),
    inputByteLimit: textOf(fields.inputByteLimit),
    models: textsOf(fields.models),
  };
}

function members({ id: _id, ...draft }: PlanDraft): Fields {
  const counts = Object.fromEntries(COUNTS.map((count) => [count, numberOrText(draft[count])]));
  return { ...draft, ...counts, inputByteLimit: numberOrText(draft.inputByteLimit) };
}

interface PlanDialogProps extends DialogProps {
  readonly catalog: Catalog;
  /** `null`: a new plan. */
  readonly id: string | null;
}

export function PlanDialog({ id, catalog, ...dialog }: PlanDialogProps) {
  const text = useTexts(plansTexts);
  const terms = useTexts(planTexts);
  const { plans, models } = catalog.value;
  const stored = () => planDraft(id ?? '', plans[id ?? ''] ?? {});
  const [draft, field, , opened] = useDraft(stored, dialog.isOpen);
  const problem = (): string | null => {
    if (id === null && Object.hasOwn(plans, draft.id)) return text.taken;
    return draft.models.length === 0 ? text.modelNeeded : null;
  };
  const edits = (): CatalogEdit[] =>
    id === null
      ? [{ path: ['plans', draft.id], value: filled(members(draft)) }]
      : editedMembers(['plans', id], members(opened), members(draft));
  const count = (name: Count, label: string) => <CountField label={label} required {...field(name)} />;
  return (
    <CatalogDialog
      {...dialog}
      title={id === null ? text.add : text.editTitle(id)}
      catalog={catalog}
      problem={problem}
      edits={edits}
      size="lg"
    >
      <Stack>
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
          {id === null && (
            <TextInput
              label={text.id}
              description={text.idHint}
              required
              {...field('id')}
              autoComplete="off"
              spellCheck={false}
            />
          )}
          <TextInput label={text.displayName} required {...field('name')} autoComplete="off" />
        </SimpleGrid>
        <MultiSelect
          label={terms.models}
          withAsterisk
          data={[...new Set([...Object.keys(models), ...draft.models])]}
          value={[...draft.models]}
          onChange={field('models').onChange}
          searchable
          hidePickedOptions
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
          {count('fiveHourCalls', terms.fiveHourCalls)}
          {count('weeklyCalls', terms.weeklyCalls)}
          {count('concurrency', terms.concurrency)}
          {count('quotaTokens', terms.quotaTokens)}
          {count('periodDays', text.periodDays)}
          <YuanField label={text.price} {...field('priceYuan')} />
          <TextInput
            label={terms.inputLimit}
            description={text.inputHint}
            required
            {...field('inputByteLimit')}
            autoComplete="off"
          />
          <CountField label={terms.outputLimit} description={text.outputHint} required {...field('outputTokenLimit')} />
        </SimpleGrid>
      </Stack>
    </CatalogDialog>
  );
}
