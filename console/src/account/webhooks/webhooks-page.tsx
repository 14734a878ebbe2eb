import { Page } from '../../parts/page.tsx';

export function WebhooksPage() {
  return <Page title="…">{null}</Page>;
}
