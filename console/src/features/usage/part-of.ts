import { useCallback } from 'react';
import { callStatusTexts } from '../../parts/calls/status-badge.tsx';
import { commonTexts } from '../../parts/texts.ts';
import { keyPart, type PartOf } from '../../parts/usage/usage-parts.ts';
import { useTexts } from '../../text/language.tsx';
import { ownValue } from '../../text/own-value.ts';
import { type Dimension, usageTexts } from './texts.ts';

/** Returns the id and the label of a group in a dimension. */
export function usePartOf(dimension: Dimension): PartOf {
  const { unknownKey, noGroup, otherValues } = useTexts(usageTexts);
  const common = useTexts(commonTexts);
  const statuses = useTexts(callStatusTexts);
  return useCallback(
    (group) => {
      switch (dimension) {
        case 'account':
          return { id: group.accountId ?? '', name: group.accountName ?? group.accountId ?? '–' };
        case 'key':
          return keyPart(group, unknownKey);
        case 'route': {
          const { model = '–', provider = '–' } = group;
          return { id: `${model} ${provider}`, name: `${model} · ${provider}` };
        }
        case 'group':
          return { id: group.groupId ?? '', name: group.groupId ?? noGroup };
        case 'status':
          return { id: group.status ?? '', name: ownValue(statuses, group.status ?? '') ?? group.status ?? '–' };
        case 'context':
          return { id: group.context ?? '', name: group.context === 'coding' ? common.coding : common.balance };
        case 'endUser':
        case 'program':
        case 'tag':
          return { id: group[dimension] ?? '', name: group[dimension] ?? otherValues };
        default:
          return { id: group[dimension] ?? '', name: group[dimension] ?? '–' };
      }
    },
    [dimension, unknownKey, noGroup, otherValues, common, statuses],
  );
}
