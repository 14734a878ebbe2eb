import { useTexts } from '../../text/language.tsx';
import { Endpoints } from './endpoints.tsx';
import { webhooksTexts } from './texts.ts';
import { WebhookSide } from './webhook-side.ts';

/** Endpoints of operators, which can receive every event, and of accounts. */
export function OperatorWebhooksPage() {
  const text = useTexts(webhooksTexts);
  return (
    <WebhookSide value="/admin/v1">
      <Endpoints lead={text.operatorLead} />
    </WebhookSide>
  );
}
