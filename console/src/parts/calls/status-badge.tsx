import { Badge } from '@mantine/core';
import type { Call, CallInFlight } from '../../api/types.ts';
import { defineTexts, useTexts } from '../../text/language.tsx';

export const callStatusTexts = defineTexts(
  {
    succeeded: 'succeeded',
    failed: 'failed',
    aborted: 'aborted',
    unresolved: 'unresolved',
    resolved: 'resolved',
    in_flight: 'in flight',
  },
  {
    succeeded: '成功',
    failed: '失败',
    aborted: '客户端中断',
    unresolved: '待处理',
    resolved: '已处理',
    in_flight: '进行中',
  },
);

const COLORS: Readonly<Record<CallStatus, string>> = {
  succeeded: 'teal',
  failed: 'red',
  aborted: 'yellow',
  unresolved: 'orange',
  resolved: 'blue',
  in_flight: 'blue',
};

export type CallStatus = (Call | CallInFlight)['status'];
export const CALL_STATUSES = Object.keys(COLORS) as readonly CallStatus[];

export function StatusBadge({ status }: { readonly status: CallStatus }) {
  const text = useTexts(callStatusTexts);
  return <Badge color={COLORS[status]}>{text[status]}</Badge>;
}
