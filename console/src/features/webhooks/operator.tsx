import { useTexts } from '../../text/language.tsx';
import { Endpoints } from './endpoints.tsx';
import { webhooksTexts } from './texts.ts';
import { WebhookSide } from './webhook-side.ts';

/** The endpoints of the operators, which hear of everything, and those of accounts. */
export function OperatorWebhooksPage() {
  const text = useTexts(webhooksTexts);
  return (
    <WebhookSide value="/admin/v1">
      <Endpoints lead={text.operatorLead} />
    </WebhookSide>
  );
}
