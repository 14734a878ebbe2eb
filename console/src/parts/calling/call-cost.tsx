import { Anchor, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useRead } from '../../api/queries.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { hashOf } from '../location.ts';
import { inputTokensOf, outputTokensOf } from '../usage/usage-sums.ts';
import type { CallIds } from './run-call.ts';
import { callingTexts } from './texts.ts';

/** Time after the response within which the call must be recorded; otherwise the user cannot see it. */
const COUNTED_WITHIN_MS = 30_000;

/** Tokens and charge of a call from its record, with a link to it. */
export function CallCost({ ids }: { readonly ids: CallIds }) {
  const text = useTexts(callingTexts);
  const { requestId, callId } = ids;
  const format = useFormat();
  const [isEnded, setIsEnded] = useState(false);
  const [isLate, setIsLate] = useState(false);
  const calls = useRead('GET /account/v1/calls', { query: { requestId } }, { isLive: !isEnded && !isLate }).data?.data;
  // A provider may repeat its request ids.
  const found = callId === null ? calls?.[0] : calls?.find(({ id }) => id === callId);
  const isFound = found !== undefined;
  const ended = isFound && 'usage' in found ? found : null;
  useEffect(() => setIsEnded(ended !== null), [ended]);
  useEffect(() => {
    if (isFound) return;
    const timer = setTimeout(() => setIsLate(true), COUNTED_WITHIN_MS);
    return () => clearTimeout(timer);
  }, [isFound]);
  if (ended === null) return <Text c="dimmed">{isLate ? text.notSeen : text.counting}</Text>;
  const { usage, chargeYuan, context } = ended;
  const [input, output] = [format.count(inputTokensOf(usage ?? {})), format.count(outputTokensOf(usage ?? {}))];
  return (
    <Text size="sm" className="figure" role="status">
      {text.cost}{' '}
      {context === 'coding' ? text.onPlan(input, output) : text.costLine(input, output, format.yuan(chargeYuan ?? '0'))}
      {' · '}
      <Anchor href={hashOf(`/calls/${ended.id}`)} underline="always">
        {text.toCall}
      </Anchor>
    </Text>
  );
}
