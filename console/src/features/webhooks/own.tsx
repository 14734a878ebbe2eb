import { useTexts } from '../../text/language.tsx';
import { Endpoints } from './endpoints.tsx';
import { webhooksTexts } from './texts.ts';

export function WebhooksPage() {
  const text = useTexts(webhooksTexts);
  return <Endpoints lead={text.lead} />;
}
