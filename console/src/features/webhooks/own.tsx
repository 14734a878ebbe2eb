import { useTexts } from '../../text/language.tsx';
import { Endpoints } from './endpoints.tsx';
import { webhooksTexts } from './texts.ts';

/** The endpoints to which notices of the account are posted. */
export function WebhooksPage() {
  const text = useTexts(webhooksTexts);
  return <Endpoints lead={text.lead} />;
}
