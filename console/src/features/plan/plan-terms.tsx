import { Badge, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import type { OfferedPlan, Plan } from '../../api/types.ts';
import { Facts } from '../../parts/facts.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { planTexts } from './texts.ts';

interface PlanTermsProps {
  readonly plan: OfferedPlan | Plan;
  /** Facts to list before the terms. */
  readonly before?: readonly (readonly [name: string, value: ReactNode])[];
}

export function PlanTerms({ plan, before = [] }: PlanTermsProps) {
  const text = useTexts(planTexts);
  const format = useFormat();
  return (
    <Facts
      facts={[
        ...before,
        [
          text.models,
          <Group key="models" gap={6}>
            {plan.models.map((model) => (
              <Badge key={model} variant="default">
                {model}
              </Badge>
            ))}
          </Group>,
        ],
        [text.fiveHourCalls, format.count(plan.fiveHourCalls)],
        [text.weeklyCalls, format.count(plan.weeklyCalls)],
        [text.concurrency, format.count(plan.concurrency)],
        [text.quotaTokens, format.exactCount(plan.quotaTokens)],
        [text.periodDays, text.days(format.count(plan.periodDays))],
        [text.inputLimit, format.bytes(plan.inputByteLimit)],
        [text.outputLimit, text.tokensOnly(format.exactCount(plan.outputTokenLimit))],
      ]}
    />
  );
}
