import { SegmentedControl, Select } from '@mantine/core';
import type { OwnModel } from '../../api/types.ts';
import { useTexts } from '../../text/language.tsx';
import { commonTexts } from '../texts.ts';
import type { CallTarget } from './call-target.ts';

type Context = CallTarget['context'];

/** The models that can be called with one of these operations, on the balance or on the Coding Plan. */
export function offeredModels(models: readonly OwnModel[], called: readonly string[], context: Context): OwnModel[] {
  return models.filter(
    ({ operations, isInPlan }) =>
      operations.some((each) => called.includes(each)) && (context === 'balance' || isInPlan),
  );
}

interface CallChoiceProps {
  /** Whether the account can choose the Coding Plan. */
  readonly hasPlan: boolean;
  readonly context: Context;
  readonly onContext: (context: Context) => void;
  readonly offered: readonly OwnModel[];
  readonly modelId: string | null;
  readonly onModel: (id: string | null) => void;
}

/** Chooses what pays for a call, and the model. */
export function CallChoice({ hasPlan, context, onContext, offered, modelId, onModel }: CallChoiceProps) {
  const text = useTexts(commonTexts);
  return (
    <>
      {hasPlan && (
        <SegmentedControl
          aria-label={text.paidBy}
          value={context}
          onChange={(value) => onContext(value as Context)}
          data={[
            { value: 'balance', label: text.balance },
            { value: 'coding', label: text.coding },
          ]}
        />
      )}
      <Select
        label={text.model}
        data={offered.map(({ id }) => id)}
        value={modelId}
        onChange={onModel}
        allowDeselect={false}
        searchable
        w={240}
      />
    </>
  );
}
