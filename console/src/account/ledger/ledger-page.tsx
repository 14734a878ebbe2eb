import { Page } from '../../parts/page.tsx';

export function LedgerPage() {
  return <Page title="…">{null}</Page>;
}
