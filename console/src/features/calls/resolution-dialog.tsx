import { Button, Radio, Stack, Text, TextInput } from '@mantine/core';
import type { Call } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { useDialog } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { correctionTexts } from './resolution-texts.ts';

type Action = NonNullable<Call['resolution']>['action'];

const noDecision = () => ({ action: 'release' as Action, size: '', memo: '' });

interface ResolutionButtonProps {
  readonly call: Call;
  readonly isSmall?: boolean;
}

/** Resolves a call whose outcome is unknown. A call can be resolved once. */
export function ResolutionButton({ call, isSmall = false }: ResolutionButtonProps) {
  const text = useTexts(correctionTexts);
  const [open, dialog] = useDialog();
  const format = useFormat();
  const [{ action, size, memo }, field, set] = useDraft(noDecision, dialog.isOpen);
  const isOnPlan = call.context === 'coding';
  return (
    <>
      <Button {...(isSmall ? { size: 'compact-sm', variant: 'default' } : {})} onClick={open}>
        {text.resolve}
      </Button>
      <ChangeDialog
        endpoint="POST /admin/v1/calls/{id}/resolution"
        title={text.resolveTitle}
        submitLabel={text.resolve}
        size="lg"
        {...dialog}
        input={() => ({
          path: { id: call.id },
          body: { ...sizeOf(action, size.trim()), memo: memo.trim() || undefined },
        })}
        doneText={text.resolved}
      >
        <Text size="sm">{text.resolveHint}</Text>
        <Radio.Group label={text.decision} value={action} onChange={(chosen) => set({ action: chosen as Action })}>
          <Stack gap="xs" mt={4}>
            {!isOnPlan && <Radio value="charge" label={text.charge} />}
            {isOnPlan && <Radio value="count" label={text.count} disabled={call.heldTokens === null} />}
            <Radio value="release" label={text.release} />
            {isOnPlan && call.heldTokens === null && <Text size="sm">{text.tokensUnknown}</Text>}
          </Stack>
        </Radio.Group>
        {action === 'charge' && (
          <TextInput
            label={text.amountInYuan}
            description={text.chargeHint(format.yuan(call.heldYuan ?? '0'))}
            inputMode="decimal"
            required
            {...field('size')}
          />
        )}
        {action === 'count' && (
          <TextInput
            label={text.tokens}
            description={text.tokensHint(format.count(call.heldTokens ?? 0))}
            inputMode="numeric"
            required
            {...field('size')}
          />
        )}
        <TextInput label={text.memo} description={text.memoHint} maxLength={200} {...field('memo')} />
      </ChangeDialog>
    </>
  );
}

/** The gateway validates the size: invalid counts are sent as entered, and the dialog shows the error. */
function sizeOf(action: Action, size: string) {
  switch (action) {
    case 'charge':
      return { action, chargeYuan: size };
    case 'count':
      return { action, tokens: size === '' ? null : Number(size) };
    case 'release':
      return { action };
  }
}
