import { Checkbox, SegmentedControl, Stack, Text } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { OwnInvoiceRequest } from '../../api/types.ts';
import { CalendarField } from '../../parts/calendar-field.tsx';
import { isMonth } from '../../parts/days.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { DimmedText } from '../../parts/small.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { invoicesTexts } from './texts.ts';

interface RequestDialogProps extends DialogProps {
  /** Earlier requests, whose top-ups are left out. */
  readonly requests: readonly OwnInvoiceRequest[];
  /** The current day in the billing time zone. */
  readonly today: string;
}

const TOP_UPS_SHOWN = 50;

/** Requests an invoice for a month that is over, or for top-ups. */
export function RequestDialog({ requests, today, ...dialog }: RequestDialogProps) {
  const text = useTexts(invoicesTexts);
  const format = useFormat();
  const [{ kind, month, entryIds }, , set] = useDraft(
    () => ({ kind: 'month' as 'month' | 'topUps', month: monthBefore(today), entryIds: [] as string[] }),
    dialog.isOpen,
  );
  const query = { kind: 'top_up', limit: TOP_UPS_SHOWN } as const;
  const read = useRead('GET /account/v1/ledger', { query }, { isWanted: dialog.isOpen });
  const taken = new Set(requests.flatMap((request) => (request.state === 'refused' ? [] : (request.entryIds ?? []))));
  const free = (read.data?.data ?? []).filter(({ id }) => !taken.has(id));
  const problem = (): string | null => {
    if (kind === 'month') return isMonth(month) && month < today.slice(0, 7) ? null : text.chooseMonth;
    return entryIds.length > 0 ? null : text.chooseTopUps;
  };
  return (
    <ChangeDialog
      endpoint="POST /account/v1/invoice-requests"
      title={text.request}
      {...dialog}
      input={() => ({ body: kind === 'month' ? { month } : { entryIds } })}
      problem={problem}
      doneText={text.requested}
    >
      <SegmentedControl
        value={kind}
        onChange={(chosen) => set({ kind: chosen as typeof kind })}
        data={[
          { value: 'month', label: text.aMonth },
          { value: 'topUps', label: text.topUps },
        ]}
      />
      {kind === 'month' ? (
        <CalendarField
          type="month"
          label={text.aMonth}
          description={text.monthHint}
          value={month}
          onChange={(next) => set({ month: next })}
        />
      ) : (
        <Checkbox.Group
          label={text.topUps}
          description={text.topUpsHint}
          value={entryIds}
          onChange={(chosen) => set({ entryIds: chosen })}
        >
          <Stack gap="xs" mt="xs">
            {free.length === 0 && <DimmedText>{text.noTopUps}</DimmedText>}
            {free.map(({ id, amountYuan, createdAt, reference }) => (
              <Checkbox
                key={id}
                value={id}
                label={
                  <Text size="sm" span>
                    {[format.yuan(amountYuan), format.instant(createdAt), reference].filter(Boolean).join(' · ')}
                  </Text>
                }
              />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </ChangeDialog>
  );
}

/** The month before that of a day such as `2026-12-02`. */
function monthBefore(day: string): string {
  const [year = 0, month = 0] = day.split('-').map(Number);
  if (year === 0) return '';
  return month === 1 ? `${year - 1}-12` : `${year}-${String(month - 1).padStart(2, '0')}`;
}
