import { Page } from '../../parts/page.tsx';

export function KeysPage() {
  return <Page title="API keys">{null}</Page>;
}
